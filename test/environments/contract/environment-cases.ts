import type {PortConnection} from '../../../src/client/ports/port-connection.js';
import type {Processes} from '../../../src/client/process/process-handle.js';
import type {RunResult} from '../../../src/client/run/run-result.js';
import {Environment} from '../../../src/environments/environment.js';
import {sh} from '../../helpers/start-params.js';
import {type Bench, type ContractCases, collect} from './bench.js';

const summary = ({reason, exitCode, stdout, stderr, error}: RunResult): object => ({
	reason,
	exitCode,
	stdout: stdout.text,
	stderr: stderr.text,
	error,
});

async function describeResponse(response: Response): Promise<object> {
	const {status, url, redirected, type} = response;
	return {status, url, redirected, type, text: await response.text(), header: response.headers.get('x-seen')};
}

async function closed({environment}: Bench): Promise<Environment> {
	await environment.run(['true']);
	await environment.close();
	return environment;
}

type StaticMember = 'local' | 'remote';

export const ENVIRONMENT_CASES: ContractCases<keyof Environment | StaticMember | '[Symbol.asyncDispose]'> = {
	id: {text: ({environment}) => typeof environment.id},
	kind: {text: ({environment}) => typeof environment.kind},
	local: {makes: () => typeof Environment.local().start},
	remote: {
		makes: () => typeof Environment.remote,
		'wrong address': () => Environment.remote('x', 'nonsense'),
		'wrong option': () => Environment.remote('x', 'ws://127.0.0.1:1', {tokn: 'x'} as never),
	},
	processes: {object: ({environment}) => Object.keys(environment.processes)},
	files: {object: ({environment}) => Object.keys(environment.files).sort()},
	start: {
		'exit code': async ({sh: start}) => (await start('exit 3')).exited,
		signal: async ({sh: start}) => (await start('kill -TERM $$')).exited,
		variables: async ({environment}) => {
			const process = await environment.start(['sh', '-c', 'echo $A-${B-none}'], {env: {A: 'a', B: undefined}});
			return (await environment.communicate(process)).stdout.text;
		},
		'unset variable, raw': async ({environment}) => {
			const params = sh('p', 'echo ${B-none}');
			const {process} = await environment.processes.start({...params, env: {...params.env, B: undefined as never}});
			return (await environment.communicate(process)).stdout.text;
		},
		'wrong variable': ({environment}) => environment.start(['true'], {env: {A: 5 as never}}),
		'missing program': ({environment}) => environment.start(['/nonexistent/program']),
		'missing directory': ({environment}) => environment.start(['true'], {cwd: '/nonexistent'}),
		'argv as text': ({environment}) => environment.start('true' as never),
		'unknown option': ({environment}) => environment.start(['true'], {stdn: true} as never),
		'taken id': async ({environment}) => {
			await environment.start(['sleep', '1000'], {processId: 'p'});
			return environment.start(['true'], {processId: 'p'});
		},
		'taken name': async ({environment, name}) => {
			await environment.start(['sleep', '1000'], {name});
			return environment.start(['true'], {name});
		},
		'name of an ended process': async ({environment, name}) => {
			const first = await environment.start(['sleep', '1000'], {name, backpressure: true});
			await first.terminate();
			await first.closed;
			return (await environment.start(['true'], {name})).exited;
		},
		'aborted before': ({environment}) => environment.start(['true'], {signal: AbortSignal.abort(new Error('no'))}),
		'after close': async bench => (await closed(bench)).start(['true']),
		'time limit': async ({sh: start}) => (await start('exec sleep 1000', {timeout: 50})).exited,
		'time limit that cannot be meant': ({environment}) => environment.start(['true'], {timeout: 'soon'}),
		'aborted later': async ({environment}) => {
			const controller = new AbortController();
			const process = await environment.start(['sleep', '1000'], {signal: controller.signal});
			controller.abort();
			return process.exited;
		},
		'sandbox that does not exist': ({environment}) => environment.start(['true'], {sandbox: 'readonly' as never}),
	},
	run: {
		output: async ({environment}) => summary(await environment.run(['sh', '-c', 'echo out; echo err >&2'])),
		input: async ({environment}) => summary(await environment.run(['cat'], {input: 'typed'})),
		code: ({environment}) => environment.run(['sh', '-c', 'echo why >&2; exit 4']),
		'no rejection': async ({environment}) => summary(await environment.run(['false'], {reject: false})),
		'missing program': ({environment}) => environment.run(['/nonexistent/program']),
		timeout: async ({environment}) => (await environment.run(['sleep', '1000'], {timeout: 50, reject: false})).reason,
		'time limit of a child that was left': async ({environment}) =>
			summary(await environment.run(['sh', '-c', 'sleep 1000 & exit 3'], {timeout: 2000, reject: false})),
		'aborted with a child that was left': async ({environment}) => {
			const controller = new AbortController();
			const options = {signal: controller.signal, onStdout: () => controller.abort(), reject: false};
			const {reason, stdout} = await environment.run(['sh', '-c', 'sleep 1000 & echo up; wait'], options);
			return [reason, stdout.text];
		},
		'no arguments': ({environment}) => environment.run([]),
		'relative directory': ({environment}) => environment.run(['true'], {cwd: 'relative'}),
		'no inherited variables': async ({environment}) =>
			summary(await environment.run(['/usr/bin/env'], {inherit: 'none', env: {A: '1'}})),
		'kept bytes': async ({environment}) => {
			const {stdout} = await environment.run(['seq', '1', '1000'], {maxBytes: 20});
			return [stdout.text, stdout.totalBytes, stdout.omittedBytes];
		},
		'input that fails': ({environment}) =>
			environment.run(['cat'], {
				input: (async function* () {
					yield 'x';
					throw new Error('no more');
				})(),
			}),
		'handler that fails': ({environment}) =>
			environment.run(['sh', '-c', 'echo x; exec sleep 1000'], {
				onStdout: () => {
					throw new Error('not now');
				},
			}),
		'aborted before': ({environment}) => environment.run(['true'], {signal: AbortSignal.abort(new Error('no'))}),
		'unknown option': ({environment}) => environment.run(['true'], {timeuot: 5} as never),
		terminal: async ({environment}) => summary(await environment.run(['tty', '-s'], {tty: {rows: 10, cols: 40}})),
		'after close': async bench => summary(await (await closed(bench)).run(['true'], {reject: false})),
	},
	shell: {
		line: async ({environment}) => summary(await environment.shell('echo $((6 * 7))')),
		'failing line': ({environment}) => environment.shell('exit 7'),
		'time limit of a child that was left': async ({environment}) =>
			summary(await environment.shell('sleep 1000 & exit 3', {timeout: 2000, reject: false})),
		'after close': async bench => summary(await (await closed(bench)).shell('true', {reject: false})),
	},
	communicate: {
		both: async ({environment, sh: start}) => {
			const process = await start('cat; echo err >&2', {stdin: true});
			const {exit, isComplete, stdout, stderr} = await environment.communicate(process, {input: 'in'});
			return {exit, isComplete, stdout: stdout.text, stderr: stderr.text};
		},
		'time limit': async ({environment, sh: start}) => {
			const process = await start('sleep 1000 & exit 3', {processId: 'p'});
			await process.exited;
			return environment.communicate(process, {timeout: 50});
		},
		aborted: async ({environment, sh: start}) => {
			const process = await start('exec sleep 1000', {processId: 'p'});
			return environment.communicate(process, {signal: AbortSignal.abort(new Error('no'))});
		},
		'unknown option': async ({environment, sh: start}) => environment.communicate(await start('true'), {x: 1} as never),
	},
	waitFor: {
		pattern: async ({environment, sh: start}) =>
			environment.waitFor(await start('echo one two; exec sleep 1000'), {pattern: /T(w)o/i}),
		port: async ({environment, echoPort, sh: start}) => {
			const {by} = await environment.waitFor(await start('exec sleep 1000'), {port: echoPort});
			return by;
		},
		nothing: async ({environment, sh: start}) => environment.waitFor(await start('true'), {}),
	},
	connect: {
		echo: async ({environment, echoPort}) => {
			const {readable, writable} = await environment.connect({port: echoPort});
			const writer = writable.getWriter();
			await writer.write(new TextEncoder().encode('there and back'));
			await writer.close();
			return new TextDecoder().decode(Buffer.concat(await collect(readable)));
		},
		refused: ({environment}) => environment.connect({port: 1}),
		aborted: ({environment, echoPort}) =>
			environment.connect({port: echoPort, signal: AbortSignal.abort(new Error('no'))}),
		'after close': async bench => (await closed(bench)).connect({port: bench.echoPort}),
	},
	fetch: {
		plain: async ({environment, origin}) => describeResponse(await environment.fetch(`${origin}/path?query#part`)),
		redirected: async ({environment, origin}) => describeResponse(await environment.fetch(`${origin}/to/there`)),
		'redirected twice': async ({environment, origin}) =>
			describeResponse(await environment.fetch(`${origin}/to/to/there`)),
		manual: async ({environment, origin}) =>
			describeResponse(await environment.fetch(`${origin}/to/there`, {redirect: 'manual'})),
		'redirect refused': ({environment, origin}) => environment.fetch(`${origin}/to/there`, {redirect: 'error'}),
		post: async ({environment, origin}) =>
			describeResponse(await environment.fetch(`${origin}/echo`, {method: 'POST', body: 'sent'})),
		'nobody there': ({environment}) => environment.fetch('http://127.0.0.1:1/'),
		'not a URL': ({environment}) => environment.fetch('nonsense'),
		aborted: ({environment, origin}) => environment.fetch(origin, {signal: AbortSignal.abort(new Error('no'))}),
		'after close': async bench => (await closed(bench)).fetch(bench.origin),
	},
	member: {'no hub': ({environment}) => environment.member()},
	server: {
		members: async ({environment}) => {
			const {dialect, capabilities} = await environment.server();
			return {dialect, capabilities: Object.keys(capabilities).sort()};
		},
		'after close': async bench => (await closed(bench)).server(),
	},
	sessionId: {
		type: async ({environment}) => typeof (await environment.sessionId()),
		'after close': async bench => (await closed(bench)).sessionId(),
	},
	attach: {
		'own id': async ({environment, sh: start}) =>
			(await environment.attach((await start('exit 5', {processId: 'p'})).processId)).exited,
		'own name': async ({environment, name, sh: start}) => {
			await start('read x; exit 6', {name, stdin: true});
			const process = await environment.attach(name);
			await process.closeStdin();
			return process.exited;
		},
		unknown: ({environment}) => environment.attach('nobody'),
		'after close': async bench => (await closed(bench)).attach('p'),
	},
	at: {path: ({environment}) => environment.at('/x').path},
	upgrade: {'after close': async bench => (await closed(bench)).upgrade()},
	info: {
		members: async ({environment}) => {
			const {shell, platformOs, cwd, userHomeDir} = await environment.info();
			return {shell, platformOs, cwd, userHomeDir};
		},
		'after close': async bench => (await closed(bench)).info(),
	},
	status: {
		'after use': async ({environment}) => {
			await environment.run(['true']);
			return environment.status();
		},
		'after close': async bench => (await closed(bench)).status(),
	},
	onDisconnect: {returns: ({environment}) => environment.onDisconnect(() => {})},
	close: {
		twice: async ({environment}) => {
			await environment.close();
			await environment.close();
		},
	},
	'[Symbol.asyncDispose]': {closes: ({environment}) => environment[Symbol.asyncDispose]()},
};

export const PROCESSES_CASES: ContractCases<keyof Processes> = {
	start: {
		started: async ({environment}) => {
			const {process, sandboxType} = await environment.processes.start(sh('p', 'echo hi'));
			return {exit: await process.exited, sandboxType};
		},
		'no arguments': ({environment}) => environment.processes.start({...sh('p', ''), argv: []}),
		'wrong type': ({environment}) => environment.processes.start({...sh('p', ''), tty: 'yes' as never}),
		'NUL in an argument': ({environment}) => environment.processes.start({...sh('p', ''), argv: ['a\0b']}),
		'empty id': async ({environment}) => (await environment.processes.start(sh('', 'true'))).process.exited,
	},
	list: {
		own: async ({environment, name, sh: start}) => {
			await (await start('exit 3', {processId: 'ended', labels: {kind: 'test'}})).closed;
			await start('exec sleep 1000', {processId: 'running', name, tty: {rows: 10, cols: 40}});
			return environment.processes.list();
		},
		'all is a superset': async ({environment, sh: start}) => {
			await (await start('exit 3', {processId: 'ended'})).closed;
			await start('exec sleep 1000', {processId: 'running'});
			const [own, all] = [await environment.processes.list(), await environment.processes.list({all: true})];
			return own.every(({processId}) => all.some(each => each.processId === processId)) ? 'superset' : {own, all};
		},
		labels: async ({environment, sh: start}) => {
			await start('exec sleep 1000', {processId: 'p', labels: {a: '1'}});
			await start('exec sleep 1000', {processId: 'q'});
			return (await environment.processes.list({labels: {a: '1'}})).map(({processId}) => processId);
		},
		'ended included': async ({environment, sh: start}) => {
			await (await start('exit 3', {processId: 'ended'})).closed;
			const listed = await environment.processes.list({includeEnded: true});
			return listed.map(({processId, state}) => [processId, state]);
		},
		'unknown option': ({environment}) => environment.processes.list({every: true} as never),
		'after close': async bench => (await closed(bench)).processes.list(),
	},
	attach: {unknown: ({environment}) => environment.processes.attach('nobody')},
	reference: {
		logs: async ({environment, sh: start}) => {
			await (await start('echo logged', {processId: 'p'})).closed;
			return collect((await environment.processes.reference('p')).logs());
		},
		waits: async ({environment, sh: start}) => {
			await start('echo one; exec sleep 1000', {processId: 'p'});
			const {by, match} = await (await environment.processes.reference('p')).waitFor({pattern: /ONE/i});
			return {by, match};
		},
		'unknown, first question': async ({environment}) => {
			const reference = await environment.processes.reference('nobody');
			return reference.waitFor({exit: true});
		},
		'unknown, screen': async ({environment}) => (await environment.processes.reference('nobody')).screen(),
		'unknown, logs': async ({environment}) => collect((await environment.processes.reference('nobody')).logs()),
		'after close': async bench => (await closed(bench)).processes.reference('p'),
	},
};

export const PORT_CASES: ContractCases<keyof PortConnection> = {
	readable: {
		'ends with the other end': async ({environment, echoPort}) => {
			const {readable, writable} = await environment.connect({port: echoPort});
			await writable.close();
			return collect(readable);
		},
	},
	writable: {
		'after the end': async ({environment, echoPort}) => {
			const {writable} = await environment.connect({port: echoPort});
			await writable.close();
			return writable.getWriter().write(new Uint8Array(1));
		},
	},
	close: {
		'ends reading': async ({environment, echoPort}) => {
			const connection = await environment.connect({port: echoPort});
			connection.close();
			return collect(connection.readable);
		},
	},
};
