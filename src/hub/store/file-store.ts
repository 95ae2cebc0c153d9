import {randomBytes} from 'node:crypto';
import {join, resolve} from 'node:path';
import * as v from 'valibot';
import {openOwnDirectory} from '../../processes/spill/own-directory.js';
import {toStateError} from '../../processes/spill/state-files.js';
import {lockState, type StateLock} from '../../processes/spill/state-lock.js';
import {type EnvironmentPlace, keyOfPlace, type RegistrationRecord, registrationRecord} from './hub-records.js';
import type {HubStore, StoredRegistration} from './hub-store.js';
import {type BadLine, RecordFile, readRecords} from './record-file.js';

const REGISTRATIONS_FILE = 'registrations.jsonl';
const SECRET_BYTES = 32;
/** The file is written anew when it has this many times the records that count, and more than a few. */
const MAX_OUTDATED_FACTOR = 4;
const MIN_RECORDS_TO_REWRITE = 1000;

/** Registrations in one append-only file in a directory of its own; one hub at a time. */
export class FileStore implements HubStore {
	/** Another one at every start: which tickets were used is kept in memory, so those of an earlier run are not accepted. */
	readonly ticketSecret: Uint8Array = randomBytes(SECRET_BYTES);
	readonly #lock: StateLock;
	readonly #file: RecordFile;
	readonly #registrations = new Map<string, StoredRegistration>();
	#revision = 0;
	/** Records in the file, outdated ones included. */
	#records = 0;

	/** Throws `STATE_UNUSABLE` for a directory that cannot be used, or that another hub uses. */
	constructor(directory: string, onBadLine: (bad: BadLine) => void = () => {}) {
		try {
			openOwnDirectory(resolve(directory));
			this.#lock = lockState(directory);
			this.#file = new RecordFile(join(directory, REGISTRATIONS_FILE));
			this.#load(join(directory, REGISTRATIONS_FILE), onBadLine);
		} catch (error) {
			throw toStateError(error, directory);
		}
	}

	async findRegistration(place: EnvironmentPlace): Promise<StoredRegistration | undefined> {
		return this.#registrations.get(keyOfPlace(place));
	}

	async putRegistration(registration: RegistrationRecord, revision: number | undefined): Promise<boolean> {
		if (this.#registrations.get(keyOfPlace(registration))?.revision !== revision) return false;
		this.#file.append(registration);
		this.#remember(registration);
		this.#records++;
		if (this.#records >= MIN_RECORDS_TO_REWRITE) this.#dropOutdated();
		return true;
	}

	async listRegistrations(tenant?: string): Promise<readonly RegistrationRecord[]> {
		const all = [...this.#registrations.values()].map(({registration}) => registration);
		return tenant === undefined ? all : all.filter(registration => registration.tenant === tenant);
	}

	async close(): Promise<void> {
		this.#file.close();
		this.#lock.release();
	}

	#load(path: string, onBadLine: (bad: BadLine) => void): void {
		const take = (record: unknown): void => {
			this.#remember(v.parse(registrationRecord, record));
			this.#records++;
		};
		readRecords(path, take, onBadLine);
		this.#dropOutdated();
	}

	/** An executor that is started again and again registers with another key each time. */
	#dropOutdated(): void {
		if (this.#records <= this.#registrations.size * MAX_OUTDATED_FACTOR) return;
		this.#file.rewrite(this.#live());
		this.#records = this.#registrations.size;
	}

	*#live(): Generator<RegistrationRecord> {
		for (const {registration} of this.#registrations.values()) yield registration;
	}

	#remember(registration: RegistrationRecord): void {
		this.#registrations.set(keyOfPlace(registration), {registration, revision: ++this.#revision});
	}
}
