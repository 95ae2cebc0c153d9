import {connect, ReplyError, startParams} from '../lib/client.mjs';
import {Counter} from '../lib/counter.mjs';
import {Mark} from '../lib/mark.mjs';
import {usageOf} from '../lib/proc.mjs';
import {startServer} from '../lib/server.mjs';
import {spread} from '../lib/stats.mjs';
import {delay, inParallel, until, within} from '../lib/waiting.mjs';

const DESCRIPTORS = 256;
/** Refusals of either kind before the server counts as full. */
const REFUSALS = 25;
/** Nothing may take longer than this, however few descriptors are left. */
const MAX_WAIT_MS = 5000;
const INTERNAL_ERROR = -32_603;
const STATUS_CALLS = 100;
const AFTERWARDS = 10;
/** Starts on their way at once while there is nothing left. */
const PRESSURE = 8;

/** A server with few descriptors is given more than it can hold, and has to say so, go on serving, and recover. */
export async function exhaustDescriptors(command, random) {
	const mark = new Mark(process.pid, 9998);
	const wrap = argv => mark.wrap(['/bin/sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$@"`, 'sh', ...argv]);
	const settings = ['--detached-session', '1s', '--retain-closed', '1s'];
	const server = await startServer({command, wrap, settings});
	const crowd = new Crowd(server.url, mark, random);
	const first = await crowd.connect();
	await crowd.start(first, 'cat', {argv: ['cat'], pipeStdin: true});
	const echo = echoOf(first, 'cat');
	await echo('before');
	await crowd.start(first, 'family', {argv: ['/bin/sh', '-c', familyScript(mark.text(1))]});
	await until(() => countOf(mark.text(1), mark) === 4, {withinMs: MAX_WAIT_MS});
	const before = usageOf(server.pid);

	await crowd.fill();
	const full = usageOf(server.pid);
	console.error(`${crowd.processes.length} processes, ${crowd.clients.length} connections, ${full.fds} descriptors`);
	const {times: replies} = await inParallel(STATUS_CALLS, 1, () =>
		within(MAX_WAIT_MS, 'environment/status', random.pick(crowd.clients).call('environment/status', {})),
	);
	const echoed = await echo('while there is nothing left');
	const listed = await within(MAX_WAIT_MS, 'process/list', first.call('process/list', {}));
	const familyLeft = await crowd.underPressure(async () => {
		await within(MAX_WAIT_MS, 'process/terminate', first.call('process/terminate', {processId: 'family'}));
		await until(() => countOf(mark.text(1), mark) === 0, {withinMs: 1000});
		return countOf(mark.text(1), mark);
	});

	await crowd.endHalf();
	const failuresAfterwards = await crowd.worksAgain(first);
	const echoedAfterwards = await echo('afterwards');
	await crowd.endAll(first);
	const back = await until(() => isBack(usageOf(server.pid), before), {withinMs: MAX_WAIT_MS});
	const after = usageOf(server.pid);
	const exitCode = await server.stop();
	const left = await until(() => mark.living().length === 0, {withinMs: 2000});
	return [
		['descriptors allowed / used when full', `${DESCRIPTORS} / ${full.fds}`, true],
		['processes / connections when full', `${crowd.most.processes} / ${crowd.most.clients}`, true],
		['starts refused', crowd.startRefusals.length, crowd.startRefusals.length >= REFUSALS],
		['… other than as RESOURCES_EXHAUSTED', describe(crowd.unclear), crowd.unclear.length === 0],
		['connections refused', crowd.connectionRefusals.length, crowd.connectionRefusals.length >= REFUSALS],
		['… how', describe(crowd.connectionRefusals), true],
		[`attempts without an answer in ${MAX_WAIT_MS} ms`, describe(crowd.hangs), crowd.hangs.length === 0],
		['status meanwhile, p50 / p99 / most ms', spread(replies, 2), true],
		[
			'echo of an earlier process meanwhile / afterwards',
			`${echoed} / ${echoedAfterwards}`,
			echoed && echoedAfterwards,
		],
		['processes listed meanwhile', listed.processes.length, listed.processes.length > 0],
		['a terminated family of four: members left', familyLeft, familyLeft === 0],
		['failures after half was ended', describe(failuresAfterwards), failuresAfterwards.length === 0],
		['descriptors before / after all was ended', `${before.fds} / ${after.fds}`, back],
		['exit code of the server / processes left', `${exitCode} / ${mark.living().length}`, exitCode === 0 && left],
		['lines the server logged', server.log().length, server.log().length === 0],
	];
}

/** A shell, a child in its group, one in a session of its own, and one that detached itself. */
function familyScript(mark) {
	return `setsid -f sleep ${mark}; setsid sleep ${mark} & sleep ${mark} & wait # ${mark}`;
}

function countOf(text, mark) {
	return mark.living().filter(({command}) => command.includes(text)).length;
}

/** Only the process of the first client is left; the family is gone by then. */
function isBack({fds, children}, before) {
	return fds <= before.fds && children <= 1;
}

/** Sends a word to a process that runs `cat` and waits for it to come back. */
function echoOf(client, processId) {
	let heard = '';
	client.watch(processId, (method, {chunk}) => {
		if (method === 'process/output') heard += Buffer.from(chunk, 'base64').toString();
	});
	return async word => {
		const chunk = Buffer.from(`${word}\n`).toString('base64');
		await within(MAX_WAIT_MS, 'process/write', client.call('process/write', {processId, chunk, writeId: word}));
		return until(() => heard.endsWith(`${word}\n`), {withinMs: MAX_WAIT_MS, everyMs: 5});
	};
}

/** `25 × socket hang up; 3 × …` */
function describe(messages) {
	const counter = new Counter();
	for (const message of messages) counter.add(message);
	return (
		counter
			.entries()
			.map(([message, count]) => `${count} × ${message}`)
			.join('; ') || 'none'
	);
}

/** Processes and connections on one server, and how it refused more of them. */
class Crowd {
	clients = [];
	processes = [];
	startRefusals = [];
	unclear = [];
	connectionRefusals = [];
	hangs = [];
	most = {processes: 0, clients: 0};
	#url;
	#mark;
	#random;
	#count = 10;

	constructor(url, mark, random) {
		this.#url = url;
		this.#mark = mark;
		this.#random = random;
	}

	async connect() {
		const client = await connect(this.#url, {replyMs: MAX_WAIT_MS});
		this.clients.push(client);
		return client;
	}

	start(client, id, rest) {
		return client.call('process/start', startParams({id, ...rest}));
	}

	/** Starts processes and opens connections in no particular order until neither is possible, many times over. */
	async fill() {
		while (this.startRefusals.length < REFUSALS || this.connectionRefusals.length < REFUSALS) {
			if (this.hangs.length > 3) return;
			if (this.#random.chance(0.6)) await this.#startOne();
			else await this.#connectOne();
		}
		this.most = {processes: this.processes.length, clients: this.clients.length};
	}

	/** Does the work while every descriptor that comes free is asked for at once. */
	async underPressure(work) {
		const relief = new AbortController();
		const press = async () => {
			while (!relief.signal.aborted) await this.#startOne();
		};
		const pressing = Array.from({length: PRESSURE}, press);
		await delay(50);
		const result = await work();
		relief.abort();
		await Promise.all(pressing);
		return result;
	}

	async #startOne() {
		const client = this.#random.pick(this.clients);
		const id = `p${++this.#count}`;
		const kind = this.#random.pick([{}, {pipeStdin: true}, {tty: true}]);
		try {
			await this.start(client, id, {argv: ['sleep', this.#mark.text(this.#count)], ...kind});
			this.processes.push({client, id});
		} catch (error) {
			if (!(error instanceof ReplyError)) {
				this.hangs.push(error.message);
				return;
			}
			this.startRefusals.push(error.message);
			const clear = error.code === INTERNAL_ERROR && error.data?.code === 'RESOURCES_EXHAUSTED';
			if (!clear || !/\(os error \d+\)$/.test(error.message)) this.unclear.push(`${error.code} ${error.message}`);
		}
	}

	async #connectOne() {
		try {
			await within(MAX_WAIT_MS, 'a connection', this.connect());
		} catch (error) {
			if (/nothing after|no reply|timed out/.test(error.message)) this.hangs.push(error.message);
			else this.connectionRefusals.push(error.message);
		}
	}

	/** Every second process, and every second connection with whatever runs on it, but never the first. */
	async endHalf() {
		const half = this.processes.filter((_, index) => index % 2 === 0);
		await Promise.all(half.map(({client, id}) => client.call('process/terminate', {processId: id})));
		const gone = this.clients.filter((_, index) => index % 2 === 1);
		for (const {socket} of gone) socket.close();
		await Promise.all(gone.map(({closed}) => closed));
		this.processes = this.processes.filter(each => !half.includes(each) && !gone.includes(each.client));
		this.clients = this.clients.filter(client => !gone.includes(client));
	}

	/** New processes of every kind and new connections, as if nothing had been; what failed. */
	async worksAgain(client) {
		const failures = [];
		for (let count = 0; count < AFTERWARDS; count++) {
			try {
				const fresh = await within(MAX_WAIT_MS, 'a connection', this.connect());
				const closed = new Promise(resolve => {
					fresh.watch(`new${count}`, method => method === 'process/closed' && resolve());
				});
				await this.start(fresh, `new${count}`, {argv: ['true'], tty: count % 2 === 0});
				await within(MAX_WAIT_MS, 'the end of a process', closed);
				await this.start(client, `kept${count}`, {argv: ['sleep', this.#mark.text(2)], tty: count % 2 === 0});
				this.processes.push({client, id: `kept${count}`});
			} catch (error) {
				failures.push(error.message);
			}
		}
		return failures;
	}

	/** Everything but the first connection and its `cat`. */
	async endAll(first) {
		await Promise.all(this.processes.map(({client, id}) => client.call('process/terminate', {processId: id})));
		for (const client of this.clients) if (client !== first) client.socket.close();
	}
}
