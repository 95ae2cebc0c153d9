// Linux only: reads /proc, as keepers are.
import {mkdirSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import * as v from 'valibot';
import {PRIVATE_DIRECTORY_MODE, readTextFile, replaceFile} from '../../processes/spill/state-files.js';
import {readProcessInfo} from '../../processes/tree/process-tree.js';

const KEEPERS = 'keepers';
const RECORD = /^([\w.+-]+)\.json$/;
const MAX_RECORD_BYTES = 4096;
const MAX_LOG_CHARS = 2000;
const BOOT_ID = '/proc/sys/kernel/random/boot_id';

const keeperRecord = v.object({
	pid: v.pipe(v.number(), v.integer(), v.minValue(1)),
	/** Clock ticks since boot. */
	startTime: v.string(),
	/** Names the run of the system that these are of. */
	bootId: v.string(),
	version: v.string(),
	generation: v.string(),
});

/** A keeper as it describes itself, beside its socket in the state directory. */
export type KeeperRecord = v.InferOutput<typeof keeperRecord>;

export interface KeeperPaths {
	readonly socket: string;
	readonly record: string;
	/** Its warnings, and the reason of a crash. */
	readonly log: string;
}

export function keeperPaths(stateDirectory: string, generation: string): KeeperPaths {
	const path = (ending: string): string => join(stateDirectory, KEEPERS, `${generation}.${ending}`);
	return {socket: path('sock'), record: path('json'), log: path('log')};
}

export function makeKeepersDirectory(stateDirectory: string): void {
	mkdirSync(join(stateDirectory, KEEPERS), {recursive: true, mode: PRIVATE_DIRECTORY_MODE});
}

/** Describes this process. */
export function writeKeeperRecord(stateDirectory: string, generation: string, version: string): void {
	const {startTime = ''} = readProcessInfo(process.pid) ?? {};
	const record: KeeperRecord = {pid: process.pid, startTime, bootId: readBootId(), version, generation};
	replaceFile(keeperPaths(stateDirectory, generation).record, `${JSON.stringify(record)}\n`);
}

export function removeKeeperFiles(stateDirectory: string, generation: string): void {
	const {socket, record, log} = keeperPaths(stateDirectory, generation);
	for (const path of [socket, record, log]) rmSync(path, {force: true});
}

/** The end of what a keeper has said; empty if there is nothing. */
export function readKeeperLog(stateDirectory: string, generation: string): string {
	try {
		return readFileSync(keeperPaths(stateDirectory, generation).log, 'utf8').slice(-MAX_LOG_CHARS).trim();
	} catch {
		return '';
	}
}

/** All keepers that ever were and have not removed their files, alive or not. */
export function listKeeperRecords(stateDirectory: string): KeeperRecord[] {
	return listNames(join(stateDirectory, KEEPERS)).flatMap(name => {
		const generation = RECORD.exec(name)?.[1];
		const record = generation === undefined ? undefined : readRecord(join(stateDirectory, KEEPERS, name));
		return record && record.generation === generation ? [record] : [];
	});
}

/** False for another process that has got the same id. */
export function isKeeperAlive({pid, startTime, bootId}: KeeperRecord): boolean {
	return bootId === readBootId() && readProcessInfo(pid)?.startTime === startTime;
}

function readRecord(path: string): KeeperRecord | undefined {
	try {
		const parsed = v.safeParse(keeperRecord, JSON.parse(readTextFile(path, MAX_RECORD_BYTES)));
		return parsed.success ? parsed.output : undefined;
	} catch {
		return undefined;
	}
}

function listNames(directory: string): string[] {
	try {
		return readdirSync(directory);
	} catch {
		return [];
	}
}

function readBootId(): string {
	try {
		return readFileSync(BOOT_ID, 'latin1').trim();
	} catch {
		return '';
	}
}
