// The suites of `npm run test:interop`, for a list of codex versions.
import {join} from 'node:path';
import {listPeerTests, SHORT_STOCK_TESTS} from './contract-tests.mjs';

/** Scenarios that are run through forwarders: a command, a terminal, files, HTTP and a lost connection. */
const FORWARDED = 'a,b,d,l,m-reconnect';
/** Scenarios of a short run: the same, a sandbox, and an executor that loses its hub. */
const SHORT = `${FORWARDED},h,m2`;

/**
 * Reads the value of `--peer`, such as `0.166.0:short,latest`, as `[{version, isShort}]`. `newest` returns the version that
 * `latest` stands for. A version that is named twice is run once, in full if one of the two is not short.
 */
export function parsePeers(text, {isShort, newest}) {
	const peers = new Map();
	for (const entry of text.split(',')) {
		const [, name, form] = /^([^:]+)(?::(short))?$/.exec(entry) ?? [];
		if (name === undefined)
			throw new Error(`invalid peer ${JSON.stringify(entry)}: use VERSION, VERSION:short or latest`);
		const version = name === 'latest' ? newest() : name;
		peers.set(version, (isShort || form !== undefined) && peers.get(version) !== false);
	}
	return [...peers].map(([version, short]) => ({version, isShort: short}));
}

/**
 * Lists the suites of peers `{version, program, isShort}`: `{group, title, program, tests}` for our client, and
 * `{group, title, program, scenarios}` for the client of the peer, with the arguments of `test/interop/run.mjs`.
 * `own` is `{root, enforcer, hasSandbox}`; `sides` names the clients that are wanted, `ours` and `theirs`.
 */
export function planSuites(peers, own, sides = ['ours', 'theirs']) {
	const suites = [
		...peers.flatMap(peer => planPeer(peer, own)),
		...peers.flatMap(client =>
			peers.filter(server => server !== client).flatMap(server => planPair(client, server, own)),
		),
	];
	return suites.filter(({tests}) => sides.includes(tests ? 'ours' : 'theirs'));
}

/** Suites of one version and longarm. */
function planPeer({version, program, isShort}, own) {
	const {place, sandbox, hub, register} = ownArguments(own);
	const suite = (title, more) => ({group: version, title, program, ...more});
	const only = isShort ? ['--only', SHORT] : [];
	const short = [
		suite('our client, their server', {tests: isShort ? SHORT_STOCK_TESTS : listPeerTests()}),
		suite('their client, our server', {scenarios: [...place, ...sandbox, ...only]}),
		suite('their client, our hub, their server', {
			scenarios: [...hub, '--remote-cmd', registerStock(program), ...only],
		}),
	];
	if (isShort) return short;
	const forwarded = [...hub, ...place, '--only', FORWARDED];
	return [
		...short,
		suite('their client, our hub, our server', {scenarios: [...hub, ...sandbox, '--remote-cmd', register]}),
		suite('their client, our hub, our forwarder', {scenarios: forwarded}),
		suite('their client, our hub, their forwarder', {scenarios: [...forwarded, '--stock-forward']}),
	];
}

/** Suites of a client of one version and a server of another version, through our hub. */
function planPair(client, server, own) {
	const {place, hub} = ownArguments(own);
	const suite = (title, scenarios) => ({
		group: 'mixed',
		title: `${client.version} client, ${title}`,
		program: client.program,
		scenarios,
	});
	const isShort = client.isShort || server.isShort;
	const only = isShort ? ['--only', SHORT] : [];
	const direct = suite(`our hub, ${server.version} server`, [
		...hub,
		'--remote-cmd',
		registerStock(server.program),
		...only,
	]);
	if (isShort) return [direct];
	const listening = ['--server-cmd', `exec '${server.program}' exec-server --listen ws://127.0.0.1:0`];
	return [
		direct,
		suite(`our hub, our forwarder, ${server.version} server`, [...hub, ...listening, '--only', FORWARDED]),
		suite(`our hub, ${server.version} forwarder, our server`, [
			...hub,
			...place,
			'--only',
			FORWARDED,
			'--stock-forward',
			'--forward-bin',
			server.program,
		]),
	];
}

function ownArguments({root, enforcer, hasSandbox}) {
	const register = `exec '${process.execPath}' '${join(root, 'dist/bin/longarm.js')}' serve --sandbox-enforcer ${enforcer}`;
	return {
		place: ['--server-cmd', `${register} --listen ws://127.0.0.1:0`, '--stdio-cmd', `${register} --listen stdio`],
		sandbox: hasSandbox ? ['--own-sandbox'] : [],
		hub: ['--hub', join(root, 'dist')],
		register,
	};
}

function registerStock(program) {
	return `exec '${program}' exec-server`;
}
