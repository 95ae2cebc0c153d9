// covers: scripts/lib/interop-suites.mjs, scripts/lib/contract-tests.mjs
import {existsSync} from 'node:fs';
import {expect, test} from 'vitest';

interface Peer {
	readonly version: string;
	readonly isShort: boolean;
	readonly program?: string;
}

interface Suite {
	readonly group: string;
	readonly title: string;
	readonly program: string;
	readonly tests?: readonly string[];
	readonly scenarios?: readonly string[];
}

interface Suites {
	readonly parsePeers: (text: string, options: {isShort: boolean; newest: () => string}) => Peer[];
	readonly planSuites: (peers: readonly Peer[], own: object, sides?: readonly string[]) => Suite[];
}

const file = new URL('../../scripts/lib/interop-suites.mjs', import.meta.url);
const {parsePeers, planSuites} = (await import(file.href)) as Suites;

const parse = (text: string, isShort = false): Peer[] => parsePeers(text, {isShort, newest: () => '2.0.0'});
const OWN = {root: '/repository', enforcer: 'auto', hasSandbox: true};
const OLD = {version: '1.0.0', program: '/old/codex', isShort: false};
const NEW = {version: '2.0.0', program: '/new/codex', isShort: false};
const titles = (suites: readonly Suite[]): string[] => suites.map(({group, title}) => `${group}: ${title}`);

test('versions are listed in the order they are named, and `latest` is the newest release', () => {
	expect(parse('1.0.0,latest')).toEqual([
		{version: '1.0.0', isShort: false},
		{version: '2.0.0', isShort: false},
	]);
	expect(parse('2.0.0,1.0.0:short')).toEqual([
		{version: '2.0.0', isShort: false},
		{version: '1.0.0', isShort: true},
	]);
	expect(parse('1.0.0', true)).toEqual([{version: '1.0.0', isShort: true}]);
});

test('a version that is named twice is run once, in full if one of the two is', () => {
	expect(parse('2.0.0:short,latest')).toEqual([{version: '2.0.0', isShort: false}]);
	expect(parse('latest,2.0.0:short')).toEqual([{version: '2.0.0', isShort: false}]);
});

test.each(['', '1.0.0,', '1.0.0:long', ':short'])('the list of versions %j is refused', text => {
	expect(() => parse(text)).toThrow('invalid peer');
});

test('one version is run with our server, hub, forwarder and client', () => {
	expect(titles(planSuites([NEW], OWN))).toEqual([
		'2.0.0: our client, their server',
		'2.0.0: their client, our server',
		'2.0.0: their client, our hub, their server',
		'2.0.0: their client, our hub, our server',
		'2.0.0: their client, our hub, our forwarder',
		'2.0.0: their client, our hub, their forwarder',
	]);
});

test('two versions are also run as client and server of each other', () => {
	const mixed = planSuites([OLD, NEW], OWN).filter(({group}) => group === 'mixed');
	expect(titles(mixed)).toEqual([
		'mixed: 1.0.0 client, our hub, 2.0.0 server',
		'mixed: 1.0.0 client, our hub, our forwarder, 2.0.0 server',
		'mixed: 1.0.0 client, our hub, 2.0.0 forwarder, our server',
		'mixed: 2.0.0 client, our hub, 1.0.0 server',
		'mixed: 2.0.0 client, our hub, our forwarder, 1.0.0 server',
		'mixed: 2.0.0 client, our hub, 1.0.0 forwarder, our server',
	]);
	expect(mixed[0]).toMatchObject({
		program: '/old/codex',
		scenarios: expect.arrayContaining([`exec '/new/codex' exec-server`]) as string[],
	});
	expect(mixed[2]!.scenarios!.slice(-3)).toEqual(['--stock-forward', '--forward-bin', '/new/codex']);
});

test('a short version is run with a few suites and scenarios', () => {
	const suites = planSuites([NEW, {...OLD, isShort: true}], OWN).filter(({group}) => group !== '2.0.0');
	expect(titles(suites)).toEqual([
		'1.0.0: our client, their server',
		'1.0.0: their client, our server',
		'1.0.0: their client, our hub, their server',
		'mixed: 2.0.0 client, our hub, 1.0.0 server',
		'mixed: 1.0.0 client, our hub, 2.0.0 server',
	]);
	for (const {scenarios} of suites.slice(1)) expect(scenarios).toContain('--only');
});

test('one side alone is run with --client or --server', () => {
	expect(titles(planSuites([NEW], OWN, ['ours']))).toEqual(['2.0.0: our client, their server']);
	expect(titles(planSuites([NEW], OWN, ['theirs']))).toHaveLength(5);
});

test('the tests of our client are files that use the program in CODEX_BIN', () => {
	const [{tests}] = planSuites([NEW], OWN, ['ours']) as [Suite];
	const [{tests: short}] = planSuites([{...NEW, isShort: true}], OWN, ['ours']) as [Suite];
	expect(tests).toEqual(
		expect.arrayContaining([...short!, 'test/client/files/contract.test.ts', 'test/cli/copy.test.ts']),
	);
	expect(tests).not.toContain('test/hub/pools.test.ts');
	for (const path of tests!) expect(existsSync(new URL(`../../${path}`, import.meta.url))).toBe(true);
});
