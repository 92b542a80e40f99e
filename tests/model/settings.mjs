/// The server under test keeps no replaced revisions: how long each of them stays is not modelled.
export const SETTINGS = '[database]\nreplaced_kept = "0s"\n';
