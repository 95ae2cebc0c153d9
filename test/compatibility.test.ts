// covers: scripts/render-compatibility.mjs, test/interop/peers
import {readFileSync} from 'node:fs';
import {expect, test} from 'vitest';
import {describeEnvironment} from '../src/adapters/environment-info.js';
import {SERVE} from '../src/cli/commands/serve/serve-definition.js';
import {SERVE_FORWARD} from '../src/cli/commands/serve/serve-forward-definition.js';
import {RECOVERY_BUDGET_MS, RETRY_INTERVAL_MS} from '../src/client/session/recovery.js';
import {METHODS} from '../src/protocol/methods/method-table.js';
import {DEFAULTS} from '../src/server/options.js';
import {PING_INTERVAL_MS} from '../src/transports/node/peer-times.js';

interface RecordedMethod {
	readonly memberCount?: number;
	readonly params?: Readonly<Record<string, string>>;
}

interface Peer {
	readonly version: string;
	readonly methods: Readonly<Record<string, RecordedMethod>>;
	readonly capabilities: Readonly<Record<string, boolean>>;
}

interface Scripts {
	readonly readPeers: () => readonly Peer[];
	readonly renderCompatibility: (page: string, peers: readonly Peer[], own: object) => string;
}

/** The scripts are plain JavaScript and have no types. */
async function script(name: string): Promise<Scripts> {
	return (await import(new URL(`../scripts/${name}`, import.meta.url).href)) as Scripts;
}

const {readPeers} = await script('lib/peers.mjs');
const {renderCompatibility} = await script('render-compatibility.mjs');
const peers = readPeers();

test('docs/compatibility.md is what `npm run docs` makes of the recorded versions of codex and of the code', () => {
	const page = readFileSync(new URL('../docs/compatibility.md', import.meta.url), 'utf8');
	const timers = {
		...DEFAULTS,
		pingIntervalMs: PING_INTERVAL_MS,
		recoveryBudgetMs: RECOVERY_BUDGET_MS,
		retryIntervalMs: RETRY_INTERVAL_MS,
	};
	const own = {
		methods: METHODS,
		timers,
		describeEnvironment,
		serveOptions: SERVE.options,
		forwardOptions: SERVE_FORWARD.options,
	};
	expect(peers.map(({version}) => version)).toEqual(expect.arrayContaining(['0.166.0', '0.169.0']));
	expect(renderCompatibility(page, peers, own)).toBe(page);
	for (const name of Object.keys(peers.at(-1)!.capabilities)) expect(page).toContain(`| \`${name}\` |`);
	expect(renderCompatibility(page, peers.slice(0, 1), own)).not.toBe(page);
});

test('a page without the marks of its generated part is refused', () => {
	expect(() => renderCompatibility('# Compatibility\n', peers, {})).toThrow('has no part between');
});

/** Names of the members of parameters, without those of their members. */
function memberNames({params = {}}: RecordedMethod): string[] {
	const names = Object.keys(params).filter(path => !/[.[{]/.test(path));
	return names.map(name => name.replace('?', ''));
}

test.each(peers)('every member that codex $version decodes is recorded by its name', ({methods}) => {
	const counted = Object.entries(methods).filter(([, {memberCount}]) => memberCount !== undefined);
	expect(counted.length).toBeGreaterThan(20);
	const recorded = counted.map(([name, method]) => [name, memberNames(method).length]);
	expect(Object.fromEntries(recorded)).toEqual(
		Object.fromEntries(counted.map(([name, {memberCount}]) => [name, memberCount])),
	);
});

test.each(peers)('the table of methods has every method and member that codex $version decodes', ({methods}) => {
	const missing = Object.entries(methods).flatMap(([name, method]) => {
		const declared = METHODS[name as keyof typeof METHODS]?.params as {entries?: object} | undefined;
		if (declared === undefined) return [name];
		const known = Object.keys(declared.entries ?? {});
		return memberNames(method)
			.filter(member => !known.includes(member))
			.map(member => `${name} ${member}`);
	});
	expect(missing).toEqual([]);
});
