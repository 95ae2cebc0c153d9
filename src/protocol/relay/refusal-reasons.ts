/** Reasons of a reset with which an executor of ours refuses a client; stock ones have one reason for everything. */

/** A client that a pool has sent finds no slot, or the executor about to end. */
export const EXECUTOR_FULL = 'executor_full';
export const EXECUTOR_DRAINING = 'executor_draining';
/** The registry could not be asked about the client. */
export const REGISTRY_UNREACHABLE = 'registry_unreachable';
/** The key of the client is not one of those that the executor lets in, whatever the registry says. */
export const KEY_NOT_ALLOWED = 'key_not_allowed';
