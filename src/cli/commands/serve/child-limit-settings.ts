import type {ChildLimits} from '../../../processes/backends/child-limits.js';
import {Cgroup} from '../../../processes/backends/linux/cgroup.js';
import {LongarmError} from '../../../shared/errors.js';
import type {Logger} from '../../../shared/logger.js';
import type {Settings} from './serve-settings.js';

/** Interval of the check for processes the kernel had to end. */
const LOOK_EVERY_MS = 1000;

/**
 * Limits of children, from the settings. A limit that cannot be enforced keeps the server from starting. `groupPath` is the
 * control group of an earlier program of this process.
 */
export function readChildLimits(settings: Settings, logger: Logger, groupPath?: string): ChildLimits {
	const cpuMs = settings['child-cpu'];
	return {
		memoryBytes: settings['child-memory'],
		processes: settings['child-processes'],
		openFiles: settings['child-files'],
		fileBytes: settings['child-file-size'],
		cpuSeconds: cpuMs === undefined ? undefined : Math.ceil(cpuMs / 1000),
		nice: settings['child-nice'],
		oomScore: settings['child-oom-score'],
		group: groupOf(settings, logger, groupPath),
	};
}

function groupOf(settings: Settings, logger: Logger, path: string | undefined): Cgroup | undefined {
	const limits = {memoryBytes: settings['children-memory'], processes: settings['children-processes']};
	if (limits.memoryBytes === undefined && limits.processes === undefined) return undefined;
	const group = path === undefined ? create(limits) : Cgroup.adopt(path, limits);
	logger.info('children are in a control group', {group: group.path, ...limits});
	process.once('exit', () => group.remove());
	let kills = 0;
	setInterval(() => {
		const now = group.memoryKills;
		if (now > kills)
			logger.warn('the kernel ended children: they used more than children-memory', {ended: now - kills});
		kills = now;
	}, LOOK_EVERY_MS).unref();
	return group;
}

function create(limits: Parameters<typeof Cgroup.create>[0]): Cgroup {
	try {
		return Cgroup.create(limits);
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		const message = `children-memory and children-processes cannot be enforced here: ${reason}`;
		throw new LongarmError('SETTING_INVALID', {message, context: {...limits}, cause});
	}
}
