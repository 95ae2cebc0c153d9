import {createHash, randomBytes} from 'node:crypto';
import {statSync} from 'node:fs';
import {join} from 'node:path';
import * as v from 'valibot';
import {makeDirectories, toStateError} from '../../processes/spill/state-files.js';
import {LongarmError} from '../../shared/errors.js';
import {randomHex} from '../../shared/random-id.js';
import {matchesWildcards} from '../../shared/wildcards.js';
import {DEFAULT_TENANT, type HubTokenKind, TENANT_NAME, type TokenRecord, tokenRecord} from './hub-records.js';
import type {CreatedToken, TokenStore} from './hub-store.js';
import {type BadLine, RecordFile, readRecords} from './record-file.js';

const TOKENS_FILE = 'tokens.jsonl';
const SECRET_BYTES = 32;
const ID_BYTES = 4;
/** First characters of a token, for people who find one. */
const PREFIXES: Readonly<Record<HubTokenKind, string>> = {executor: 'lhe_', client: 'lhc_'};
const PATTERN = /^[A-Za-z0-9_*-]{1,64}$/;

const line = v.union([tokenRecord, v.object({revoked: v.string()})]);

/**
 * Tokens of a hub, in a file that commands append to while the hub runs. Each look compares the file with the one that was
 * read, so a new or revoked token counts from the next request on.
 */
export class HubTokens implements TokenStore {
	readonly #directory: string;
	readonly #path: string;
	readonly #onBadLine: (bad: BadLine) => void;
	#version = '';
	#byDigest = new Map<string, TokenRecord>();
	#ids: ReadonlySet<string> = new Set();

	/** `onBadLine` is called for each line that is not a record, whenever the file is read. */
	constructor(directory: string, onBadLine: (bad: BadLine) => void = () => {}) {
		this.#directory = directory;
		this.#onBadLine = onBadLine;
		this.#path = join(directory, TOKENS_FILE);
	}

	list(): TokenRecord[] {
		this.#refresh();
		return sortTokens(this.#byDigest.values());
	}

	/** The record of a token that is good for this kind of caller; undefined for any other. */
	find(token: string | undefined, kind: HubTokenKind): TokenRecord | undefined {
		if (token === undefined) return undefined;
		this.#refresh();
		// A lookup by digest takes a time that tells nothing about the tokens that are good.
		const record = this.#byDigest.get(digestOfToken(token));
		return record?.kind === kind ? record : undefined;
	}

	isGood(id: string): boolean {
		return this.goodIds().has(id);
	}

	/** Ids of all tokens that are good now. */
	goodIds(): ReadonlySet<string> {
		this.#refresh();
		return this.#ids;
	}

	create(kind: HubTokenKind, pattern: string, tenant = DEFAULT_TENANT): CreatedToken {
		const created = makeToken(kind, pattern, tenant);
		this.#append(created.record);
		return created;
	}

	/** False if there is no such token. */
	revoke(id: string): boolean {
		if (!this.isGood(id)) return false;
		this.#append({revoked: id});
		return true;
	}

	#append(record: object): void {
		try {
			makeDirectories(this.#directory);
			const file = new RecordFile(this.#path);
			try {
				file.lock();
				file.append(record);
			} finally {
				file.close();
			}
		} catch (error) {
			throw toStateError(error, this.#directory);
		}
	}

	#refresh(): void {
		const stats = statSync(this.#path, {throwIfNoEntry: false, bigint: true});
		const version = stats ? `${stats.ino} ${stats.size} ${stats.mtimeNs}` : '';
		if (version === this.#version) return;
		this.#byDigest = stats ? readTokens(this.#path, this.#onBadLine) : new Map<string, TokenRecord>();
		this.#ids = new Set([...this.#byDigest.values()].map(({id}) => id));
		this.#version = version;
	}
}

/** A token that is kept nowhere yet; throws `SETTING_INVALID`. */
export function makeToken(kind: HubTokenKind, pattern: string, tenant: string): CreatedToken {
	if (!PATTERN.test(pattern)) {
		throw new LongarmError('SETTING_INVALID', {
			message: `\`${pattern}\` is no pattern of environment ids: up to 64 letters, digits, _, - and *`,
		});
	}
	if (!TENANT_NAME.test(tenant)) {
		throw new LongarmError('SETTING_INVALID', {
			message: `\`${tenant}\` is no name of a tenant: up to 32 lower-case letters, digits and -, not - at first`,
		});
	}
	const token = `${PREFIXES[kind]}${randomBytes(SECRET_BYTES).toString('base64url')}`;
	const id = randomHex(ID_BYTES);
	return {token, record: {id, tenant, kind, pattern, digest: digestOfToken(token), createdAt: Date.now()}};
}

/** Oldest first. */
export function sortTokens(records: Iterable<TokenRecord>): TokenRecord[] {
	return [...records].sort((one, other) => one.createdAt - other.createdAt);
}

/** Whether a token is good for an environment of its tenant. */
export function coversEnvironment({pattern}: Pick<TokenRecord, 'pattern'>, environmentId: string): boolean {
	return matchesWildcards(pattern, environmentId);
}

function readTokens(path: string, onBadLine: (bad: BadLine) => void): Map<string, TokenRecord> {
	const byId = new Map<string, TokenRecord>();
	const take = (written: unknown): void => {
		const record = v.parse(line, written);
		if ('revoked' in record) byId.delete(record.revoked);
		else byId.set(record.id, record);
	};
	readRecords(path, take, onBadLine);
	return new Map([...byId.values()].map(record => [record.digest, record]));
}

export function digestOfToken(token: string): string {
	return createHash('sha256').update(token).digest('hex');
}
