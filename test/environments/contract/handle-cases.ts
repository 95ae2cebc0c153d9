import type {ProcessHandle} from '../../../src/client/process/process-handle.js';
import {type ContractCases, collect, failure, untilHeldBack} from './bench.js';

const FOREVER = 'exec sleep 1000';
const TERMINAL = {tty: {rows: 5, cols: 20}};
const HOSTILE = `printf ${'a'.repeat(60)}; ${FOREVER}`;

export const HANDLE_CASES: ContractCases<keyof ProcessHandle | '[Symbol.asyncDispose]'> = {
	processId: {given: async ({sh}) => (await sh('true', {processId: 'p'})).processId},
	name: {
		given: async ({sh, name}) => (await sh('true', {name})).name,
		none: async ({sh}) => (await sh('true')).name,
	},
	role: {driver: async ({sh}) => (await sh('true')).role},
	driver: {'not told': async ({sh}) => (await sh('true')).driver},
	exited: {
		code: async ({sh}) => (await sh('exit 3')).exited,
		signal: async ({sh}) => (await sh('kill -KILL $$')).exited,
		terminated: async ({sh}) => {
			const process = await sh(FOREVER);
			await process.terminate();
			return process.exited;
		},
		'back-pressure without a reader': async ({sh}) => {
			const process = await sh('head -c 5000000 /dev/zero; exec sleep 1000', {backpressure: true});
			await untilHeldBack(process);
			await process.terminate();
			return process.exited;
		},
		'time limit': async ({environment}) => {
			const info = await environment.info();
			const {process} = await environment.processes.start({
				processId: 'p',
				argv: ['sleep', '1000'],
				cwd: info.cwd!,
				env: {PATH: '/usr/bin:/bin'},
				tty: false,
				timeoutMs: 50,
			});
			return process.exited;
		},
	},
	closed: {
		settles: async ({sh}) => (await sh('true')).closed,
		'back-pressure without a reader': async ({sh}) => {
			const process = await sh('head -c 5000000 /dev/zero; exec sleep 1000', {backpressure: true});
			await untilHeldBack(process);
			await process.terminate();
			await process.closed;
			return process.isOver;
		},
	},
	lastSeq: {
		'at the end': async ({sh}) => {
			const process = await sh('echo x');
			await process.closed;
			return process.lastSeq;
		},
	},
	isOver: {
		both: async ({sh}) => {
			const process = await sh('read x', {stdin: true});
			const before = process.isOver;
			await process.closeStdin();
			await process.closed;
			return [before, process.isOver];
		},
	},
	waitForSeq: {first: async ({sh}) => (await (await sh(`echo x; ${FOREVER}`)).waitForSeq(0)) > 0},
	read: {
		all: async ({sh}) => {
			const process = await sh('printf one; printf two >&2; exit 3');
			await process.closed;
			const {chunks, ...rest} = await process.read();
			return {...rest, streams: chunks.map(({stream}) => stream).sort()};
		},
		later: async ({sh}) => {
			const process = await sh('printf one');
			await process.closed;
			return process.read({afterSeq: 1});
		},
		waits: async ({sh}) => (await sh(`sleep 0.1; printf late; ${FOREVER}`)).read({waitMs: 10_000}),
		running: async ({sh}) => (await sh(FOREVER)).read(),
	},
	write: {
		accepted: async ({sh}) => (await sh('cat', {stdin: true})).write('x'),
		terminal: async ({sh}) => (await sh(FOREVER, TERMINAL)).write('x'),
		'without stdin': async ({sh}) => (await sh(FOREVER)).write('x'),
		'after the exit': async ({sh}) => {
			const process = await sh('true', {stdin: true});
			await process.closed;
			return process.write('x');
		},
		'after the end of the input': async ({sh}) => {
			const process = await sh(FOREVER, {stdin: true});
			await process.closeStdin();
			return process.write('x');
		},
	},
	closeStdin: {
		ends: async ({sh}) => {
			const process = await sh('cat; exit 4', {stdin: true});
			await process.closeStdin();
			return process.exited;
		},
		'without stdin': async ({sh}) => (await sh(FOREVER)).closeStdin(),
	},
	resize: {
		terminal: async ({sh}) => {
			const process = await sh('read x; stty size', TERMINAL);
			await process.resize({rows: 7, cols: 33});
			await process.write('\n');
			return (await process.waitFor({pattern: /\d+ \d+/})).match[0];
		},
		'without a terminal': async ({sh}) => (await sh(FOREVER)).resize({rows: 1, cols: 1}),
	},
	signal: Object.fromEntries(
		(
			[
				['name', 'SIGTERM'],
				['object', {name: 'TERM'}],
				['interrupt', 'interrupt'],
				['SIGINT', 'SIGINT'],
				['unknown name', 'SIGNONE'],
				['unknown object', {name: 'nonsense'}],
				['no signal', undefined],
				['number', 15],
			] as const
		).map(([name, signal]) => [
			name,
			async ({sh}: Parameters<ContractCases<'x'>['x'][string]>[0]) => {
				const process = await sh(FOREVER);
				await process.signal(signal as never);
				return process.exited;
			},
		]),
	),
	terminate: {
		once: async ({sh}) => (await sh(FOREVER)).terminate(),
		twice: async ({sh}) => {
			const process = await sh(FOREVER);
			return [await process.terminate(), await process.terminate()];
		},
		gracefully: async ({sh}) => {
			const process = await sh('trap "exit 9" TERM; echo ready; while :; do sleep 0.01; done');
			await process.waitFor({pattern: 'ready'});
			return [await process.terminate({graceful: {timeoutMs: 60_000}}), await process.exited];
		},
		'after the end': async ({sh}) => {
			const process = await sh('true');
			await process.closed;
			return process.terminate();
		},
		'what an exited process has left': async ({sh}) => {
			const process = await sh('sleep 1000 & exit 3');
			const exit = await process.exited;
			const answer = await process.terminate();
			await process.closed;
			return [exit, answer];
		},
		'wrong mode': async ({sh}) => (await sh(FOREVER)).terminate('gently' as never),
	},
	events: {
		all: async ({sh}) => collect((await sh('printf one; exit 3')).events()),
	},
	output: {
		all: async ({sh}) => collect((await sh('printf one')).output()),
		later: async ({sh}) => collect((await sh('printf one')).output({afterSeq: 1})),
	},
	text: {all: async ({sh}) => (await collect((await sh('printf "é\\n"')).text())).join('')},
	lines: {all: async ({sh}) => collect((await sh('printf "a\\r\\nb\\nc"')).lines())},
	snapshot: {
		ended: async ({sh}) => {
			const process = await sh('printf out; printf err >&2; exit 3');
			await process.closed;
			return process.snapshot();
		},
	},
	takeOver: {
		'own process': async ({sh}) => (await sh(FOREVER)).takeOver(),
		'unknown option': async ({sh}) => (await sh(FOREVER)).takeOver({x: 1} as never),
	},
	giveBack: {'own process': async ({sh}) => (await sh(FOREVER)).giveBack()},
	detach: {'own process': async ({sh}) => (await sh(FOREVER)).detach()},
	waitFor: {
		exit: async ({sh}) => (await sh('exit 3')).waitFor({exit: true}),
		pattern: async ({sh}) => (await sh(`printf "a b c"; ${FOREVER}`)).waitFor({pattern: /(?<x>b)( d)?/}),
		text: async ({sh}) => (await sh(`printf "a (b)"; ${FOREVER}`)).waitFor({pattern: '(b)'}),
		flags: async ({sh}) => (await sh(`printf "a\\nB\\nc"; ${FOREVER}`)).waitFor({pattern: /^b.c$/ims}),
		after: async ({sh}) => {
			const process = await sh(`printf "x1 x2"; ${FOREVER}`);
			const {end} = await process.waitFor({pattern: /x\d/});
			return process.waitFor({pattern: /x\d/, after: end});
		},
		'after an event': async ({sh}) => {
			const process = await sh(`printf x1; read x; printf x2; ${FOREVER}`, {stdin: true});
			const {end} = await process.waitFor({pattern: 'x1'});
			await process.write('\n');
			return process.waitFor({pattern: /x\d/, after: end.seq});
		},
		hostile: async ({sh}) => (await sh(HOSTILE)).waitFor({pattern: /(a+)+$b/}),
		'hostile with flags': async ({sh}) => (await sh(HOSTILE)).waitFor({pattern: /(A+)+$b/i}),
		'too long': async ({sh}) => (await sh(FOREVER)).waitFor({pattern: new RegExp('x'.repeat(2000))}),
		silence: async ({sh}) => (await sh(FOREVER)).waitFor({silence: 20}),
		input: async ({sh}) => (await sh('read x', {stdin: true})).waitFor({input: true}),
		password: async ({sh}) => (await sh('stty -echo; read x', TERMINAL)).waitFor({input: true}),
		'no input': async ({sh}) => (await sh('sleep 0.1; exit 3')).waitFor({input: true}),
		timeout: async ({sh}) => (await sh(FOREVER)).waitFor({exit: true}, {timeout: 20}),
		ended: async ({sh}) => (await sh('exit 3')).waitFor({pattern: 'never'}),
		aborted: async ({sh}) => (await sh(FOREVER)).waitFor({exit: true}, {signal: AbortSignal.abort(new Error('no'))}),
		nothing: async ({sh}) => (await sh(FOREVER)).waitFor({}),
		'wrong pattern': async ({sh}) => (await sh(FOREVER)).waitFor({pattern: 5 as never}),
		'unknown option': async ({sh}) => (await sh(FOREVER)).waitFor({exit: true}, {timeuot: 1} as never),
	},
	screen: {
		now: async ({sh}) => {
			const process = await sh(`printf "hello\\nthere"; ${FOREVER}`, TERMINAL);
			await process.waitFor({pattern: 'there'});
			return process.screen();
		},
		ansi: async ({sh}) => {
			const process = await sh(`printf "\\033[31mred"; ${FOREVER}`, TERMINAL);
			await process.waitFor({pattern: 'red'});
			return process.screen({format: 'ansi'});
		},
		'at an event': async ({sh}) => (await sh(FOREVER, TERMINAL)).screen({atSeq: 0}),
		'without a terminal': async ({sh}) => (await sh(FOREVER)).screen(),
		'by time': async ({sh}) => (await sh(FOREVER, TERMINAL)).screen({at: new Date(0)}),
		'wrong format': async ({sh}) => (await sh(FOREVER, TERMINAL)).screen({format: 'html' as never}),
	},
	logs: {
		all: async ({sh}) => {
			const process = await sh('printf "one\\ntwo\\n"; exit 3');
			await process.closed;
			return collect(process.logs());
		},
		tail: async ({sh}) => {
			const process = await sh('seq 1 10');
			await process.closed;
			return collect(process.logs({tail: 2}));
		},
		grep: async ({sh}) => {
			const process = await sh('seq 1 30');
			await process.closed;
			return collect(process.logs({grep: /^2.$/}));
		},
		'hostile grep': async ({sh}) => {
			const process = await sh(`echo ${'a'.repeat(60)}`);
			await process.closed;
			return collect(process.logs({grep: /(a+)+$b/}));
		},
		follow: async ({sh}) => collect((await sh('printf one; sleep 0.05; printf two')).logs({follow: true})).then(joined),
		since: async ({sh}) => collect((await sh('echo x')).logs({since: '1m'})),
		'two starts': async ({sh}) => (await sh('true')).logs({from: 1, tail: 1}),
	},
	logPage: {
		first: async ({sh}) => {
			const process = await sh('printf one; exit 3');
			await process.closed;
			return process.logPage();
		},
		bytes: async ({sh}) => {
			const process = await sh('printf onetwo');
			await process.closed;
			return process.logPage({from: 3});
		},
	},
	recording: {
		'no times': async ({sh}) => {
			const process = await sh('echo x');
			await process.closed;
			return collect(process.recording());
		},
	},
	share: {observer: async ({sh}) => Object.keys(await (await sh(FOREVER)).share()).sort()},
	shares: {none: async ({sh}) => (await sh(FOREVER)).shares()},
	unshare: {unknown: async ({sh}) => (await sh(FOREVER)).unshare('000000000000')},
	remove: {
		ended: async ({environment, name, sh}) => {
			const process = await sh('true', {processId: name});
			await process.closed;
			await process.remove();
			return (await environment.processes.list()).map(({processId}) => processId);
		},
		running: async ({name, sh}) => (await sh(FOREVER, {processId: name})).remove(),
		'logs afterwards': async ({name, sh}) => {
			const process = await sh('true', {processId: name});
			await process.closed;
			await process.remove();
			return failure(collect(process.logs()));
		},
	},
	onChange: {returns: async ({sh}) => (await sh(FOREVER)).onChange(() => {})},
	'[Symbol.asyncDispose]': {
		ends: async ({sh}) => {
			const process = await sh(FOREVER);
			await process[Symbol.asyncDispose]();
			return process.exited;
		},
	},
};

function joined(entries: readonly object[]): string {
	return entries.map(entry => ('bytes' in entry ? new TextDecoder().decode(entry.bytes as Uint8Array) : '?')).join('');
}
