import type {ExecEnvironment} from '../../agent-tools/exec-environment.js';
import {resolveWorkingDirectory} from '../../agent-tools/spawner.js';
import type {Environment} from '../../environments/environment.js';

/** The environment with another working directory, relative to its own. */
export function execEnvironmentAt(environment: Environment, cwd: string | undefined): ExecEnvironment {
	if (cwd === undefined) return environment;
	return {
		id: environment.id,
		kind: environment.kind,
		processes: environment.processes,
		info: async () => {
			const info = await environment.info();
			return {...info, cwd: resolveWorkingDirectory(info, cwd).href};
		},
		status: () => environment.status(),
		onDisconnect: listener => environment.onDisconnect(listener),
	};
}
