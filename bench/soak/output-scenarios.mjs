import {MIB} from '../lib/measure.mjs';
import {delay} from '../lib/waiting.mjs';
import {FILE_BYTES} from './content-files.mjs';
import {MAX_RETAINED_BYTES} from './process-driver.mjs';

/** Output of processes and the ways to read it; each runs one process from its start to its end. */
export const OUTPUT_SCENARIOS = {
	burst: {weight: 10, run: burst},
	twoStreams: {weight: 6, run: twoStreams},
	drip: {weight: 8, run: drip},
	flood: {weight: 5, run: flood},
	lateOutput: {weight: 4, run: lateOutput},
	waitFor: {weight: 5, run: waitFor},
	snapshot: {weight: 5, run: snapshot},
	poll: {weight: 6, run: poll},
};

async function burst(driver) {
	const {random, files} = driver;
	const tty = random.chance(0.4);
	const [size, code] = [random.size(1, tty ? 400_000 : 3 * MIB), random.integer(0, 255)];
	const observed = await driver.start({script: `head -c ${size} ${files.path('cells')}; exit ${code}`, tty});
	await driver.end(observed, {bytes: size, codes: [code]});
}

async function twoStreams(driver) {
	const {random, files} = driver;
	const [out, err] = [random.size(1, MAX_RETAINED_BYTES / 2), random.size(1, MAX_RETAINED_BYTES / 2)];
	const observed = await driver.start({
		script: `head -c ${out} ${files.path('cells')} & head -c ${err} ${files.path('others')} >&2; wait; exit 9`,
		contents: {stdout: files.content('cells'), stderr: files.content('others')},
	});
	await driver.end(observed, {bytes: out + err, codes: [9]});
}

async function drip(driver) {
	const {size, code, ...start} = driver.dripProgram();
	await driver.end(await driver.start(start), {bytes: size, codes: [code]});
}

async function flood(driver) {
	const {random, files} = driver;
	const size = random.size(4 * MIB, 48 * MIB);
	const times = Math.ceil(size / FILE_BYTES);
	const names = Array.from({length: times}, () => files.path('cells')).join(' ');
	const observed = await driver.start({script: `cat ${names} | head -c ${size}; exit 3`});
	await driver.end(observed, {bytes: size, codes: [3]});
}

/** The process exits long before its child prints anything. */
async function lateOutput(driver) {
	const {random, files} = driver;
	const size = random.size(1, MAX_RETAINED_BYTES);
	const observed = await driver.start({
		script: `(sleep 0.${random.integer(1, 6)}; head -c ${size} ${files.path('cells')}) & exit 5`,
	});
	await driver.end(observed, {bytes: size, codes: [5]});
}

async function waitFor(driver) {
	const {session} = driver;
	const {size, code, ...start} = driver.dripProgram();
	const observed = await driver.start(start);
	const early = await driver.unlessExpired(
		observed,
		session.call('process/wait', {processId: observed.id, timeoutMs: 20}),
	);
	if (early?.running) {
		driver.check(early.exitCode === null && early.reason === null, 'wait', `${observed.id}: ${JSON.stringify(early)}`);
	}
	const late = await driver.unlessExpired(observed, session.call('process/wait', {processId: observed.id}));
	const right = late === undefined || (late.exitCode === code && !late.running && late.reason === 'exit');
	driver.check(right, 'wait', `${observed.id}: ${JSON.stringify(late)} instead of ${code}`);
	await driver.end(observed, {bytes: size, codes: [code]});
}

async function snapshot(driver) {
	const {random, files} = driver;
	const tty = random.chance(0.3);
	const size = tty || random.chance(0.4) ? random.size(1, MIB) : random.integer(MIB, 6 * MIB);
	const names = Array.from({length: Math.ceil(size / FILE_BYTES)}, () => files.path('cells')).join(' ');
	const observed = await driver.start({script: `cat ${names} | head -c ${size}; exit 4`, tty});
	await delay(random.integer(0, 100));
	await driver.checkSnapshot(observed, tty, total => total <= size);
	await driver.end(observed, {bytes: size, codes: [4]});
	await driver.checkSnapshot(observed, tty, total => total === size);
}

/** Reads everything by cursor, beside the notifications, in pages of any size. */
async function poll(driver) {
	const {session, random} = driver;
	const {size, code, ...start} = driver.dripProgram();
	const observed = await driver.start(start);
	for (let afterSeq = 0; !observed.isFinished; ) {
		const maxBytes = random.pick([undefined, 0, 1, 100, 5000, 100_000]);
		const request = {processId: observed.id, afterSeq, maxBytes, waitMs: random.pick([0, 10, 200])};
		const page = await driver.unlessExpired(observed, session.call('process/read', request));
		if (!page) break;
		observed.page(afterSeq, maxBytes === undefined, page);
		const next = page.nextSeq - 1;
		driver.check(next >= afterSeq, 'cursor', `${observed.id}: from ${afterSeq} back to ${next}`);
		if (page.closed && page.chunks.length === 0) break;
		afterSeq = next;
	}
	await driver.end(observed, {bytes: size, codes: [code]});
}
