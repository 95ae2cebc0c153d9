import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {join} from 'node:path';
import * as v from 'valibot';
import {makeDirectories, readTextFile, replaceFile, toStateError} from '../../processes/spill/state-files.js';
import {lockState, type StateLock} from '../../processes/spill/state-lock.js';
import {type RegistrationRecord, registrationRecord} from './hub-records.js';
import type {HubStore} from './hub-store.js';
import {RecordFile} from './record-file.js';

const REGISTRATIONS_FILE = 'registrations.jsonl';
const SECRET_FILE = 'ticket-secret';
const SECRET_BYTES = 32;
const MAX_SECRET_CHARS = 256;
/** The file is written anew at the start if it has this many times the records that count. */
const MAX_OUTDATED_FACTOR = 4;

/** Registrations in one append-only file in a directory of its own; one hub at a time. */
export class FileStore implements HubStore {
	readonly ticketSecret: Uint8Array;
	readonly #lock: StateLock;
	readonly #file: RecordFile;
	readonly #registrations = new Map<string, RegistrationRecord>();

	/** Throws `STATE_UNUSABLE` for a directory that cannot be used, or that another hub uses. */
	constructor(directory: string) {
		try {
			makeDirectories(directory);
			this.#lock = lockState(directory);
			this.ticketSecret = openSecret(join(directory, SECRET_FILE));
			this.#file = new RecordFile(join(directory, REGISTRATIONS_FILE));
			this.#load();
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	async findRegistration(environmentId: string): Promise<RegistrationRecord | undefined> {
		return this.#registrations.get(environmentId);
	}

	async putRegistration(registration: RegistrationRecord): Promise<void> {
		this.#file.append(registration);
		this.#registrations.set(registration.environmentId, registration);
	}

	async listRegistrations(): Promise<readonly RegistrationRecord[]> {
		return [...this.#registrations.values()];
	}

	async close(): Promise<void> {
		this.#file.close();
		this.#lock.release();
	}

	#load(): void {
		const records = this.#file.read();
		for (const record of records) {
			const registration = v.parse(registrationRecord, record);
			this.#registrations.set(registration.environmentId, registration);
		}
		if (records.length > this.#registrations.size * MAX_OUTDATED_FACTOR) {
			this.#file.rewrite([...this.#registrations.values()]);
		}
	}
}

function openSecret(path: string): Uint8Array {
	if (!existsSync(path)) replaceFile(path, `${randomBytes(SECRET_BYTES).toString('hex')}\n`);
	const secret = Buffer.from(readTextFile(path, MAX_SECRET_CHARS).trim(), 'hex');
	if (secret.length !== SECRET_BYTES) throw new Error(`${path} does not hold a secret of ${SECRET_BYTES} bytes`);
	return secret;
}
