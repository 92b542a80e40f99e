// Which lines of a server's log a client must not cause.

/// Warnings that say what a suite does on purpose, or how the machine is.
const expected = [
  /the system allows \d+ open files/,
  /(logical|physical) partition .* spends \d+ of at most \d+ request units/,
  /log-in failed: wrong name or password/,
  /slow request: /,
  /access log: \d+ lines dropped/,
];

/// Lines that are neither information nor a record of a request, and are not expected.
export function unexpectedLines(lines) {
  return lines.filter((line) => {
    const level = /^\S+Z (\w+) /.exec(line)?.[1];
    if (['info', 'access', 'debug'].includes(level)) return false;
    return !expected.some((pattern) => pattern.test(line));
  });
}
