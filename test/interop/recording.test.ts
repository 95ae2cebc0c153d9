// covers: test/interop/lib/peer
import {describe, expect, test} from 'vitest';
import {unless} from '../helpers/needs.js';

type Parts = Readonly<Record<string, unknown>>;

interface Recording {
	readonly roundestBetween: (lowMs: number, highMs: number) => number;
	readonly parseHelp: (text: string) => Record<string, string>;
	readonly Shape: new () => {add(value: unknown): {toJSON(): Record<string, string>}; toJSON(): Record<string, string>};
	readonly probePeer: (codexBin: string) => Promise<Parts>;
	readonly readVersion: (program: string) => string;
	readonly readPeers: () => readonly Parts[];
}

/** The recorder is plain JavaScript and has no types. */
async function load(path: string): Promise<Recording> {
	return (await import(new URL(path, import.meta.url).href)) as Recording;
}

const {roundestBetween} = await load('lib/peer/rounding.mjs');
const {parseHelp} = await load('lib/peer/help-flags.mjs');
const {Shape} = await load('lib/peer/shapes.mjs');

test.each([
	['on an idle machine', 79_500, 80_500, 80_000],
	['on a loaded machine', 78_600, 83_900, 80_000],
	['without a rounder one', 43_100, 44_100, 44_000],
	['below a second', 96, 104, 100],
])('a timer is the roundest duration between its bounds %s', (_name, low, high, expected) => {
	expect(roundestBetween(low, high)).toBe(expected);
});

test('a shape has the types of members by path, and marks the ones that some objects lack', () => {
	const shape = new Shape();
	shape.add({id: 1, env: {HOME: '/'}, items: [{name: 'a', size: null}, {name: 'b'}]});
	shape.add({id: 'text', items: []});
	expect(shape.toJSON()).toEqual({
		'env?': 'map',
		'env{}': 'string',
		id: 'integer | string',
		items: 'array',
		'items[]': 'object',
		'items[].name': 'string',
		'items[].size?': 'null',
	});
});

test('flags are read from a help text with their values, defaults and choices', () => {
	const help = `Options:
  -c, --config <key=value>
          Override a value. Mentions \`--listen\`.

      --listen <URL>
          Where to serve

      --concurrent-requests <COUNT>
          Requests at once
          
          [default: 1]

      --exit-on-stdin-close
          Exit at the end [env: SOME_VARIABLE=]

  -h, --help
          Print help
`;
	expect(parseHelp(help)).toEqual({
		'--concurrent-requests': 'COUNT [default: 1]',
		'--config': 'key=value',
		'--exit-on-stdin-close': '',
		'--help': '',
		'--listen': 'URL',
	});
});

const CODEX = process.env['CODEX_BIN'];

describe('the stock server', unless(CODEX ? undefined : 'CODEX_BIN names no stock codex'), () => {
	test('is as its recording describes it', async ({skip}) => {
		const {readVersion} = await load('../../scripts/lib/stock-codex.mjs');
		const version = readVersion(CODEX!);
		const {readPeers} = await load('../../scripts/lib/peers.mjs');
		const recorded = readPeers().find(peer => peer['version'] === version);
		if (recorded === undefined) return skip(`codex ${version} is not recorded`);
		const {probePeer} = await load('lib/peer/record.mjs');
		const probed = await probePeer(CODEX!);
		expect(probed['capabilities']).toEqual(recorded['capabilities']);
		expect(probed['flags']).toEqual(recorded['flags']);
		expect(paramsOf(probed)).toEqual(paramsOf(recorded));
	});
});

/** How the server decodes parameters; the rest is seen in the messages of a client. */
function paramsOf(peer: Parts): object {
	const methods = Object.entries(peer['methods'] as Record<string, {params?: object; memberCount?: number}>);
	return Object.fromEntries(
		methods.flatMap(([name, {params, memberCount}]) => (params ? [[name, {params, memberCount}]] : [])),
	);
}
