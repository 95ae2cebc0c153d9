import * as fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {LOG_LEVELS, type LogLevel} from '../../../src/shared/logger.js';
import {createLineLogger, type LogFormat} from '../../../src/shared/node/line-logger.js';

const NOON = new Date('2026-01-02T12:00:00.007Z');

function logger(level: LogLevel, format: LogFormat): {log: ReturnType<typeof createLineLogger>; lines: string[]} {
	const lines: string[] = [];
	return {log: createLineLogger({level, format, write: line => lines.push(line), now: () => NOON}), lines};
}

test.each(LOG_LEVELS)('at level %s only entries of that importance and above are written', level => {
	const {log, lines} = logger(level, 'json');
	const methods = ['debug', 'info', 'warn', 'error'] as const;
	for (const method of methods) log[method]('happened');
	const written = lines.map(line => (JSON.parse(line) as {level: string}).level);
	expect(written).toEqual(methods.slice(LOG_LEVELS.indexOf(level)));
});

test.each(['json', 'pretty'] as const)('nothing in a line acts on a terminal, in the form %s', format => {
	const {log, lines} = logger('info', format);
	log.info('a client came', {name: 'x\u001b[2J\u009b31m\u007f\u202e\u2066\r\nforged'});
	expect(lines).toHaveLength(1);
	expect(lines[0]!.trimEnd()).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069]/u);
});

describe('in JSON', () => {
	test('an entry is one line with level, time, message and fields', () => {
		const {log, lines} = logger('info', 'json');
		log.warn('something happened', {count: 2, who: 'us'});
		expect(lines).toEqual([
			'{"level":"warn","time":"2026-01-02T12:00:00.007Z","msg":"something happened","count":2,"who":"us"}\n',
		]);
	});

	test('whatever the fields hold, the line says the same', () => {
		const fields = fc.dictionary(fc.constantFrom('a', 'b', 'session', 'with space'), fc.jsonValue({maxDepth: 2}));
		fc.assert(
			fc.property(fields, given => {
				const {log, lines} = logger('debug', 'json');
				log.info('happened', given);
				expect(lines.length).toBe(1);
				expect(lines[0]).toMatch(/^[^\n]*\n$/);
				const plain = JSON.parse(JSON.stringify(given)) as object;
				expect(JSON.parse(lines[0]!)).toEqual({level: 'info', time: NOON.toISOString(), msg: 'happened', ...plain});
			}),
		);
	});
});

describe('for people', () => {
	test('an entry is the time of day, the level, the message and the fields', () => {
		const {log, lines} = logger('info', 'pretty');
		log.info('listening', {url: 'ws://127.0.0.1:80/', count: 2});
		log.error('broken', {reason: 'two words', nothing: undefined, list: [1, 'a b'], empty: ''});
		expect(lines).toEqual([
			'12:00:00.007 info  listening url=ws://127.0.0.1:80/ count=2\n',
			'12:00:00.007 error broken reason="two words" nothing=undefined list=[1,"a b"] empty=""\n',
		]);
	});

	test('an entry is one line whatever the fields hold', () => {
		fc.assert(
			fc.property(
				fc.oneof(fc.jsonValue({maxDepth: 2}), fc.string({unit: 'binary'}), fc.constantFrom('a\nb', '\r', '\u001b[31m')),
				value => {
					const {log, lines} = logger('debug', 'pretty');
					log.info('happened', {value});
					expect(lines.length).toBe(1);
					// Nothing in a value can end the line or steer the terminal.
					// oxlint-disable-next-line no-control-regex
					expect(lines[0]).toMatch(/^[^\u0000-\u001f]*\n$/);
				},
			),
		);
	});
});

test('a logger made with fields puts them on every line, later ones over earlier ones', () => {
	const {log, lines} = logger('info', 'pretty');
	const child = log.with({session: 's', who: 'child'}).with({who: 'grandchild'});
	child.info('one');
	child.info('two', {session: 't'});
	log.info('three');
	expect(lines).toEqual([
		'12:00:00.007 info  one session=s who=grandchild\n',
		'12:00:00.007 info  two session=t who=grandchild\n',
		'12:00:00.007 info  three\n',
	]);
});

test('a silent logger stays silent with fields too', () => {
	const {log, lines} = logger('silent', 'json');
	log.with({a: 1}).error('never');
	expect(lines).toEqual([]);
});

test('entries that could not be written are counted, and the next that can be tells how many', () => {
	const lines: string[] = [];
	let isFull = true;
	const write = (line: string): boolean => !isFull && lines.push(line) > 0;
	const log = createLineLogger({level: 'info', format: 'pretty', write, now: () => NOON});
	for (let count = 0; count < 3; count++) log.info('lost');
	isFull = false;
	log.info('kept');
	log.info('kept, too');
	expect(lines).toEqual([
		'12:00:00.007 warn  log entries were dropped count=3\n',
		'12:00:00.007 info  kept\n',
		'12:00:00.007 info  kept, too\n',
	]);
});

test('no entry holds anything that a terminal obeys, and JSON still says the same', () => {
	const name = '\u001b[31m\u007f\u009b31m\u2028\u202e\u2066';
	const [json, pretty] = [logger('info', 'json'), logger('info', 'pretty')];
	for (const {log} of [json, pretty]) log.info('happened', {name});
	for (const {lines} of [json, pretty]) expect(lines[0]).toMatch(/^[\u0020-\u007e]*\n$/);
	expect(JSON.parse(json.lines[0]!)).toMatchObject({name});
});
