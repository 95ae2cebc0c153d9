import {randomBytes} from 'node:crypto';
import {existsSync, lstatSync} from 'node:fs';
import {join, resolve} from 'node:path';
import * as v from 'valibot';
import {openOwnDirectory} from '../../processes/spill/own-directory.js';
import {readTextFile, replaceFile, toStateError} from '../../processes/spill/state-files.js';
import {lockState, type StateLock} from '../../processes/spill/state-lock.js';
import {findOwnSecrecyFault} from '../../shared/node/private-file.js';
import {type EnvironmentPlace, keyOfPlace, type RegistrationRecord, registrationRecord} from './hub-records.js';
import type {HubStore, StoredRegistration} from './hub-store.js';
import {type BadLine, RecordFile, readRecords} from './record-file.js';

const REGISTRATIONS_FILE = 'registrations.jsonl';
const SECRET_FILE = 'ticket-secret';
const SECRET_BYTES = 32;
const MAX_SECRET_CHARS = 256;
/** The file is written anew when it has this many times the records that count, and more than a few. */
const MAX_OUTDATED_FACTOR = 4;
const MIN_RECORDS_TO_REWRITE = 1000;
/** The same by bytes: large registrations that are replaced again and again must not fill the disk. */
const MIN_BYTES_TO_REWRITE = 64 * 1024 * 1024;

/** Registrations in one append-only file in a directory of its own; one hub at a time. */
export class FileStore implements HubStore {
	readonly ticketSecret: Uint8Array;
	readonly #lock: StateLock;
	readonly #file: RecordFile;
	readonly #registrations = new Map<string, StoredRegistration>();
	#revision = 0;
	/** Records in the file, outdated ones included. */
	#records = 0;
	/** Bytes of the file after it was written anew: those of the records that counted then. */
	#rewrittenBytes = 0;

	/** Throws `STATE_UNUSABLE` for a directory that cannot be used, or that another hub uses. */
	constructor(directory: string, onBadLine: (bad: BadLine) => void = () => {}) {
		try {
			openOwnDirectory(resolve(directory));
			this.#lock = lockState(directory);
			this.ticketSecret = openSecret(join(directory, SECRET_FILE));
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
		if (this.#records >= MIN_RECORDS_TO_REWRITE || this.#file.size >= MIN_BYTES_TO_REWRITE) this.#dropOutdated();
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
		const hasFewBytes = this.#file.size <= Math.max(MIN_BYTES_TO_REWRITE, this.#rewrittenBytes * MAX_OUTDATED_FACTOR);
		if (this.#records <= this.#registrations.size * MAX_OUTDATED_FACTOR && hasFewBytes) return;
		this.#file.rewrite(this.#live());
		this.#records = this.#registrations.size;
		this.#rewrittenBytes = this.#file.size;
	}

	*#live(): Generator<RegistrationRecord> {
		for (const {registration} of this.#registrations.values()) yield registration;
	}

	#remember(registration: RegistrationRecord): void {
		this.#registrations.set(keyOfPlace(registration), {registration, revision: ++this.#revision});
	}
}

/** A file without a whole secret is replaced: executors whose tickets it has signed register again. One that others can read is refused. */
function openSecret(path: string): Uint8Array {
	return readSecret(path) ?? createSecret(path);
}

function createSecret(path: string): Uint8Array {
	const secret = randomBytes(SECRET_BYTES);
	replaceFile(path, `${secret.toString('hex')}\n`);
	return secret;
}

function readSecret(path: string): Uint8Array | undefined {
	if (!existsSync(path)) return undefined;
	const fault = findOwnSecrecyFault(lstatSync(path), path);
	if (fault !== undefined) throw new Error(`${path} cannot be trusted: ${fault}`);
	const secret = Buffer.from(readTextFile(path, MAX_SECRET_CHARS).trim(), 'hex');
	return secret.length === SECRET_BYTES ? secret : undefined;
}
