import {ReplyError} from '../lib/client.mjs';
import {livingWith} from '../lib/process-search.mjs';
import {delay, until} from '../lib/waiting.mjs';
import {GrowingContent} from './content-files.mjs';

/** Between the signal of a time limit and the kill. */
const TIME_LIMIT_GRACE_MS = 1000;

/** Input, signals and limits of processes; each runs one process from its start to its end. */
export const CONTROL_SCENARIOS = {
	echo: {weight: 8, run: echo},
	echoOnTerminal: {weight: 5, run: echoOnTerminal},
	resize: {weight: 4, run: resize},
	kill: {weight: 6, run: kill},
	killTree: {weight: 4, run: killTree},
	terminateGracefully: {weight: 5, run: terminateGracefully},
	signal: {weight: 6, run: signal},
	timeLimit: {weight: 4, run: timeLimit},
	failToStart: {weight: 3, run: failToStart},
	cancel: {weight: 4, run: cancel},
};

async function echo(driver) {
	const {random, files} = driver;
	const observed = await driver.start({
		script: 'cat; exit 6',
		pipeStdin: true,
		contents: {stdout: files.content('lines')},
	});
	const size = await driver.writeLines(observed, random.integer(1, 20), () => random.size(1, 8000));
	await driver.closeStdin(observed);
	await driver.end(observed, {bytes: size, codes: [6]});
}

async function echoOnTerminal(driver) {
	const {random, files} = driver;
	const observed = await driver.start({
		script: 'stty -echo -onlcr; printf R; cat; exit 7',
		tty: true,
		contents: {pty: files.content('lines', 'R')},
	});
	await driver.waitForBytes(observed, 1);
	const size = await driver.writeLines(observed, random.integer(1, 15), () => random.size(1, 200));
	await driver.closeStdin(observed);
	await driver.end(observed, {bytes: size + 1, codes: [7]});
}

async function resize(driver) {
	const {session, random} = driver;
	const content = new GrowingContent();
	content.append('R');
	const observed = await driver.start({
		script: 'stty -echo; printf R; while read -r _; do stty size; done; exit 8',
		io: {pty: {rows: 10, cols: 20}},
		contents: {pty: content},
	});
	await driver.waitForBytes(observed, 1);
	for (let count = random.integer(1, 8); count > 0; count--) {
		const [rows, cols] = [random.integer(1, 500), random.integer(1, 500)];
		await session.call('process/resize', {processId: observed.id, rows, cols});
		content.append(`${rows} ${cols}\r\n`);
		await driver.write(observed, `line ${count}`, Buffer.from('\n'));
		await driver.waitForBytes(observed, content.length);
	}
	await driver.closeStdin(observed);
	await driver.end(observed, {bytes: content.length, codes: [8]});
}

async function kill(driver) {
	const {session, random, files} = driver;
	const endless = `while :; do cat ${files.path('cells')}; done`;
	const script = random.chance(0.5) ? endless : 'SLEEP';
	const observed = await driver.start({script, tty: random.chance(0.3), pipeStdin: random.chance(0.3)});
	await delay(random.integer(0, 300));
	const mode = random.pick([undefined, null, 'force']);
	const cutsBefore = session.cuts;
	const {running} = await session.call('process/terminate', {processId: observed.id, mode});
	driver.check(running || session.cuts > cutsBefore, 'terminate', `${observed.id} was not running`);
	await driver.end(observed, {codes: [137]});
}

/** Children in the group, in a session of their own and detached: none may be left. */
async function killTree(driver) {
	const {session, random} = driver;
	const observed = await driver.start({
		script: 'setsid -f SLEEP; setsid SLEEP & SLEEP & wait',
		tty: random.chance(0.3),
	});
	await delay(random.integer(0, 200));
	const {survivors} = await session.call('process/terminate', {processId: observed.id});
	driver.check(survivors === undefined, 'survivors', `${observed.id}: ${JSON.stringify(survivors)}`);
	await driver.end(observed, {codes: [137]});
	const alive = () => livingWith(observed.mark);
	await until(() => alive().length === 0, {withinMs: 2000});
	driver.check(alive().length === 0, 'tree survived', `${observed.id}: ${JSON.stringify(alive())}`);
}

async function terminateGracefully(driver) {
	const {session, random} = driver;
	const [script, code] = random.pick([
		['SLEEP', 143],
		[onSignal('TERM', 21), 21],
		["trap '' TERM; printf R; SLEEP", 137],
	]);
	const observed = await driver.startReady({script, tty: random.chance(0.3)});
	const timeoutMs = code === 137 ? random.integer(0, 400) : 20_000;
	await session.call('process/terminate', {processId: observed.id, mode: {graceful: {timeoutMs}}});
	await driver.end(observed, {codes: [code]});
}

async function signal(driver) {
	const {session, random} = driver;
	const [script, name, code] = random.pick([
		[onSignal('INT', 22), 'interrupt', 22],
		['SLEEP', 'interrupt', 130],
		['SLEEP', {name: 'HUP'}, 129],
		['SLEEP', {name: 'sigusr1'}, 138],
		['SLEEP', {name: 'SIGTERM'}, 143],
		['SLEEP', {name: 'KILL'}, 137],
	]);
	const observed = await driver.startReady({script, tty: random.chance(0.3)});
	await session.call('process/signal', {processId: observed.id, signal: name});
	await driver.end(observed, {codes: [code]});
}

async function timeLimit(driver) {
	const {random} = driver;
	const isDeaf = random.chance(0.3);
	const timeoutMs = random.integer(50, 800);
	const began = performance.now();
	const observed = await driver.start({script: isDeaf ? "trap '' TERM; SLEEP" : 'SLEEP', timeoutMs});
	// A shell whose time is over before it ignores the signal ends at the first one.
	await driver.end(observed, {codes: isDeaf ? [137, 143] : [143], reason: 'timeout'});
	const least = observed.exit.exitCode === 137 ? timeoutMs + TIME_LIMIT_GRACE_MS : timeoutMs;
	const took = performance.now() - began;
	driver.check(took >= least - 5, 'time limit', `${observed.id} ended after ${took} of ${least} ms`);
}

async function failToStart(driver) {
	const {session, random} = driver;
	const [id, mark] = driver.newName();
	const [rest, message] = random.pick([
		[{argv: ['/no/such/program', mark]}, 'No such file or directory (os error 2)'],
		[{argv: ['/etc/passwd', mark]}, 'Permission denied (os error 13)'],
		[{argv: ['true', mark], cwd: 'file:///no/such/directory'}, 'No such file or directory (os error 2)'],
	]);
	const error = await session.start({id, mark, contents: {}, tty: random.chance(0.3), ...rest}).catch(e => e);
	const right = error instanceof ReplyError && error.code === -32_603 && error.message === message;
	if (!(error instanceof ReplyError)) throw error;
	driver.check(right, 'failed start', `${id}: ${error.code} ${error.message}`);
}

/** Terminated right after the request: never started, or started and killed. */
async function cancel(driver) {
	const {session, random, files} = driver;
	const [id, mark] = driver.newName();
	const tty = random.chance(0.3);
	const argv = ['/bin/sh', '-c', `sleep ${mark} # ${mark}`];
	const starting = session.start({
		id,
		mark,
		argv,
		tty,
		contents: {[tty ? 'pty' : 'stdout']: files.content('cells')},
	});
	await session.call('process/terminate', {processId: id}).catch(() => {});
	try {
		const observed = await starting;
		// A cut may have brought the two out of order.
		await session.call('process/terminate', {processId: id});
		await driver.end(observed, {codes: [137]});
	} catch (error) {
		if (!(error instanceof ReplyError)) throw error;
		driver.check(
			/start was cancelled|already exists/.test(error.message),
			'cancelled start',
			`${id}: ${error.message}`,
		);
	}
}

/** A script that ends with the code when it is sent the signal; `wait` is what a shell does not miss a signal in. */
function onSignal(name, code) {
	return `exec 2>/dev/null; trap 'kill $!; exit ${code}' ${name}; SLEEP & printf R; wait`;
}
