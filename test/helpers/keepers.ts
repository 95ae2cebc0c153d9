import {chmodSync, chownSync} from 'node:fs';
import {join} from 'node:path';
import {onTestFinished} from 'vitest';
import {isKeeperAlive, type KeeperRecord, listKeeperRecords} from '../../src/server/keeper/keeper-record.js';
import {Command} from './command.js';
import {isRoot} from './needs.js';
import {joined} from './process-api.js';
import {eventually} from './processes.js';
import {scratchDirectory} from './scratch.js';
import {OTHER_USER, UNPRIVILEGED} from './subreaper.js';
import type {TestClient} from './test-client.js';

export const DURABLE = {durable: true};

export interface ListedDurable {
	readonly processId: string;
	readonly state: string;
	readonly pid: number;
	readonly exitCode: number | null;
	readonly durable: boolean;
	readonly generation: string;
	readonly name: string | null;
	readonly owner: string | null;
	readonly rows: number | null;
	readonly outputBytes: number;
}

/** A state directory whose keepers, and so everything in them, end with the test. */
export function stateDirectory({isForOtherUser = false} = {}): string {
	const parent = scratchDirectory();
	if (isForOtherUser && isRoot) {
		chmodSync(parent, 0o755);
		chownSync(parent, Number(OTHER_USER), Number(OTHER_USER));
	}
	const state = join(parent, 'state');
	onTestFinished(() => {
		for (const {pid} of listLivingKeepers(state)) process.kill(pid, 'SIGKILL');
	});
	return state;
}

export interface StatefulServer {
	readonly command: Command;
	readonly client: TestClient;
	readonly url: string;
}

/** The built command on a state directory, and a client of it. */
export async function serveState(state: string, ...settings: string[]): Promise<StatefulServer> {
	return connectTo(new Command(['serve', '--log-level', 'silent', '--state', state, ...settings]));
}

/** The same for a user without privileges. */
export async function serveStateUnprivileged(state: string, ...settings: string[]): Promise<StatefulServer> {
	const args = ['serve', '--log-level', 'silent', '--state', state, ...settings];
	return connectTo(new Command(args, {via: UNPRIVILEGED, env: {HOME: '/'}}));
}

async function connectTo(command: Command): Promise<StatefulServer> {
	const url = await command.url();
	return {command, client: await joined(url), url};
}

/** Ends a server as a crash would. */
export async function crash({command}: StatefulServer): Promise<void> {
	command.child.kill('SIGKILL');
	await command.ended;
}

export function listLivingKeepers(state: string): KeeperRecord[] {
	return listKeeperRecords(state).filter(isKeeperAlive);
}

/** The only keeper of a state directory. */
export function findKeeper(state: string): KeeperRecord {
	const found = listLivingKeepers(state);
	if (found.length !== 1) throw new Error(`${found.length} keepers`);
	return found[0]!;
}

export function untilNoKeeper(state: string): Promise<true> {
	return eventually(() => listLivingKeepers(state).length === 0);
}

export async function listAll(client: TestClient): Promise<ListedDurable[]> {
	const {processes} = await client.call<{processes: ListedDurable[]}>('process/list', {all: true, includeEnded: true});
	return processes;
}

export async function listOne(client: TestClient, processId: string): Promise<ListedDurable | undefined> {
	return (await listAll(client)).find(each => each.processId === processId);
}

/** Attaches from the first event on. */
export function attachTo(client: TestClient, process: string, role: 'observe' | 'drive' = 'observe'): Promise<unknown> {
	return client.call('process/attach', {process, role, afterSeq: 0});
}
