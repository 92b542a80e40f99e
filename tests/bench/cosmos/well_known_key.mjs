/// The emulator's key, which is public: the server takes it on a loopback address as long as it has no key of its
/// own.
export const wellKnownKey = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';
