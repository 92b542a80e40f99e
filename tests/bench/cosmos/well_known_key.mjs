/// The emulator's key, which everybody knows: the server takes it on a loopback address as long as it has no key of its
/// own.
export const wellKnownKey = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DEQWDX8S3B1rPkgrSErtcVaN6t5R0Wm0EOd2ZiPwY4hTvg==';
