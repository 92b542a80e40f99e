// How much of a random campaign a run of the tests does: all of it in continuous integration (and by ctest alone), a
// quarter in scripts/test.sh, which sets OCTAVO_TEST_DOSE=short. Each campaign runs in both.
export const dose = (count) => (process.env.OCTAVO_TEST_DOSE === 'short' ? Math.ceil(count / 4) : count);

/// Groups of tests (by the beginning of their names in CTest) whose length depends on the dose.
export const dosedGroups = ['crash', 'differential', 'model', 'regret'];
