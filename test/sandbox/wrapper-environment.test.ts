import {execFileSync} from 'node:child_process';
import {existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {pathToFileURL} from 'node:url';
import {expect, test} from 'vitest';
import {listChildren} from '../../src/processes/tree/process-tree.js';
import type {EnforcerName} from '../../src/sandbox/enforcer.js';
import {describeEnforcers} from '../helpers/enforcers.js';
import {optionalProgram} from '../helpers/needs.js';
import {workspacePolicy} from '../helpers/sandboxes.js';
import {scratchDirectory} from '../helpers/scratch.js';
import {execServer} from '../helpers/serving.js';
import {TestClient} from '../helpers/test-client.js';

interface Scene {
	readonly work: string;
	readonly outside: string;
}

type Variables = Record<string, string>;

const WRAPPER_NAMES: Readonly<Record<EnforcerName, string>> = {
	bubblewrap: 'bwrap\n',
	namespaces: 'longarm-sandbox\n',
	landlock: 'longarm-sandbox\n',
};

/** Variables that a dynamic linker or C library obeys. */
const OBEYED: readonly [string, (scene: Scene) => Variables][] = [
	['LD_PRELOAD', ({work}) => ({LD_PRELOAD: `${work}/lib/libcap.so.2`})],
	['LD_AUDIT', ({work}) => ({LD_AUDIT: `${work}/lib/libcap.so.2`})],
	['an absolute LD_LIBRARY_PATH', ({work}) => ({LD_LIBRARY_PATH: `${work}/lib`})],
	['a relative LD_LIBRARY_PATH', () => ({LD_LIBRARY_PATH: 'lib'})],
	['an empty LD_LIBRARY_PATH, the current directory', () => ({LD_LIBRARY_PATH: ':'})],
	['GLIBC_TUNABLES', () => ({GLIBC_TUNABLES: 'glibc.malloc.check=3:glibc.rtld.optional_static_tls=512'})],
	['LD_DEBUG_OUTPUT', ({outside}) => ({LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: `${outside}/new`})],
	['LOCPATH', ({work}) => ({LOCPATH: work, GCONV_PATH: work, NLSPATH: `${work}/%N`, LC_ALL: 'xx'})],
	['BASH_ENV', ({work}) => ({BASH_ENV: `${work}/script`, ENV: `${work}/script`, SHELLOPTS: 'xtrace'})],
];

describeEnforcers('a variable of the client', enforcer => {
	test.each(OBEYED)('reaches the command and not the wrapper: %s', async (_name, obeyed) => {
		const scene = createScene();
		const client = await joined(enforcer);
		const env = {PATH: process.env['PATH']!, ...obeyed(scene)};
		const cwd = pathToFileURL(scene.work).href;
		const sandbox = workspacePolicy(scene.work);
		const outer = await startWaiting(client, 'inside', {sandbox, cwd, env});
		const plain = await startWaiting(client, 'plain', {sandbox: null, cwd, env});
		const [init] = listChildren(outer);
		// Without namespaces there is no init process.
		const [command] = enforcer === 'landlock' ? [init] : listChildren(init!);
		for (const wrapper of enforcer === 'landlock' ? [outer] : [outer, init!]) {
			expect(readFileSync(`/proc/${wrapper}/comm`, 'utf8')).toBe(WRAPPER_NAMES[enforcer]);
			expect(readFileSync(`/proc/${wrapper}/environ`, 'utf8')).toBe('');
			expect(readFileSync(`/proc/${wrapper}/maps`, 'utf8')).not.toContain(scene.work);
		}
		const variables = readFileSync(`/proc/${plain}/environ`, 'utf8');
		expect(readFileSync(`/proc/${command}/environ`, 'utf8')).toBe(`${variables}PWD=${scene.work}\0`);
		for (const processId of ['inside', 'plain']) await client.call('process/terminate', {processId});
		await client.done('inside');
		// The command without a sandbox may have written there, which proves the variable.
		expect(readdirSync(scene.outside).filter(name => name !== `new.${plain}`)).toEqual([]);
	});
});

/** A library that shows that it ran, in the shape each of the variables needs. */
const LIBRARY = (file: string) => `
	#include <fcntl.h>
	__attribute__((constructor)) static void run(void) { open("${file}", O_CREAT | O_WRONLY, 0666); }
	unsigned la_version(unsigned version) { return version; }
	int cap_from_name(void) { return -1; }`;

describeEnforcers(
	'code that a sandboxed process left',
	enforcer => {
		test.each(OBEYED.slice(0, 5))('is not run by the next wrapper: %s', async (_name, variables) => {
			const scene = createScene();
			const client = await joined(enforcer);
			const mark = join(scene.outside, 'new');
			for (const library of ['lib/libcap.so.2', 'libcap.so.2']) {
				execFileSync(optionalProgram('cc'), ['-shared', '-fPIC', '-x', 'c', '-o', join(scene.work, library), '-'], {
					input: LIBRARY(mark),
				});
			}
			const env = {PATH: process.env['PATH']!, ...variables(scene)};
			const start = {env, cwd: pathToFileURL(scene.work).href};
			for (const tty of [false, true]) {
				await client.sh(`p-${tty}`, 'echo done', {...start, tty, sandbox: workspacePolicy(scene.work)});
				await client.done(`p-${tty}`);
				expect(existsSync(mark)).toBe(false);
			}
		});
	},
	{programs: ['cc']},
);

describeEnforcers('the variables of a sandboxed command', enforcer => {
	test('arrive whole, however large, and are in no argument', async () => {
		const client = await joined(enforcer);
		const work = scratchDirectory();
		const secret = 'hush-'.repeat(20_000);
		const more = Object.fromEntries(Array.from({length: 10}, (_, at) => [`LARGE${at}`, secret]));
		const env = {PATH: process.env['PATH']!, ODD: ' a\n\t"\'$\\ü\u{1F600}', EMPTY: '', ...more};
		const script = `env | wc -c; printf %s "$ODD"; tr '\\0' ' ' < /proc/1/cmdline | grep -c 'hu[s]h'`;
		await client.sh('p', script, {sandbox: workspacePolicy(work), env});
		const {stdout} = await client.done('p');
		expect(Number(stdout.split('\n')[0])).toBeGreaterThan(1_000_000);
		expect(stdout.slice(stdout.indexOf('\n') + 1)).toBe(`${env.ODD}0\n`);
	});

	test('are none where none are given', async () => {
		const client = await joined(enforcer);
		await client.start('p', ['/usr/bin/env'], {sandbox: workspacePolicy(scratchDirectory()), env: {}});
		expect(await client.done('p')).toMatchObject({exitCode: 0, stdout: 'PWD=/tmp\n'});
	});

	test('arrive or are refused, however many they are', async () => {
		const client = await joined(enforcer);
		const many = Object.fromEntries(Array.from({length: 4000}, (_, at) => [`V${at}`, '']));
		const start = {sandbox: workspacePolicy(scratchDirectory()), env: {PATH: process.env['PATH']!, ...many}};
		const outcome = await client.sh('p', 'env | grep -c ^V', start).then(
			() => client.done('p'),
			(error: unknown) => error,
		);
		// Bubblewrap takes 9,000 arguments, those for variables included.
		expect(outcome).toMatchObject(enforcer === 'bubblewrap' ? {code: -32602} : {exitCode: 0, stdout: '4000\n'});
	});
});

function joined(sandboxEnforcer: EnforcerName) {
	return TestClient.overMemory(execServer({sandboxEnforcer})).initialize();
}

/** Starts a shell that waits for input, and returns the id of the process the server started. */
async function startWaiting(client: TestClient, processId: string, start: Record<string, unknown>): Promise<number> {
	await client.sh(processId, 'echo ready; read line', {...start, pipeStdin: true});
	await client.shows(processId, 'ready');
	const {processes} = await client.call<{processes: {processId: string; pid: number}[]}>('process/list');
	return processes.find(each => each.processId === processId)!.pid;
}

function createScene(): Scene {
	const base = scratchDirectory();
	const scene = {work: join(base, 'work'), outside: join(base, 'outside')};
	mkdirSync(join(scene.work, 'lib'), {recursive: true});
	mkdirSync(scene.outside);
	writeFileSync(join(scene.work, 'script'), `echo x > ${scene.outside}/new\n`);
	return scene;
}
