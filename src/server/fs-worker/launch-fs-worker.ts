import {realpathSync} from 'node:fs';
import {dirname} from 'node:path';
import type {Backend} from '../../processes/backends/backend.js';
import type {SandboxPlan} from '../../sandbox/plan.js';
import type {Sandbox} from '../../sandbox/sandbox.js';
import {LongarmError} from '../../shared/errors.js';
import type {Transport} from '../../transports/transport.js';
import type {ServerSettings} from '../options.js';
import {spawnTransport} from './child-transport.js';
import {withRuntimeMounts} from './runtime-mounts.js';

/** All it gets of the server's own variables. */
const VARIABLES = ['PATH', 'TMPDIR', 'TMP', 'TEMP'];

/** Starts a server like this one inside a sandbox, on its standard input and output. */
export function launchFsWorker(
	plan: SandboxPlan,
	sandbox: Sandbox,
	backend: Backend,
	{ownCommand, variables, maxReplyBytes, logger}: ServerSettings,
): Promise<Transport> {
	const [program, ...own] = ownCommand.map(word => realpathSync(word));
	if (program === undefined) {
		throw new LongarmError('FILE_REFUSED', {
			message: 'sandboxed filesystem operations require configured runtime paths',
		});
	}
	const needed = [program, ...own.map(dirname)];
	const args = [...own, 'serve', '--listen', 'stdio', '--log-level', 'warn', '--max-reply', String(maxReplyBytes)];
	const command = {program, args, arg0: undefined, cwd: '/', terminal: false};
	const {file, argv, ...wrapper} = sandbox.wrap(withRuntimeMounts(plan, needed), command);
	const environment = new Map(VARIABLES.flatMap(name => (variables[name] ? [[name, variables[name]]] : [])));
	return spawnTransport(backend, {file, argv, wrapper, cwd: Buffer.from('/'), environment}, text =>
		logger.debug('fs sandbox said', {text: text.trim()}),
	);
}
