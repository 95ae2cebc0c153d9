import type {RegistrationRecord} from './hub-records.js';

/** State of a hub that outlives it. Calls may cross a network, and are atomic each. */
export interface HubStore {
	/** Secret that tickets are signed with, the same for all nodes. */
	readonly ticketSecret: Uint8Array;
	findRegistration(environmentId: string): Promise<RegistrationRecord | undefined>;
	/** Durable when it settles. */
	putRegistration(registration: RegistrationRecord): Promise<void>;
	listRegistrations(): Promise<readonly RegistrationRecord[]>;
	close(): Promise<void>;
}
