import {type Mount, type SandboxedCommand, type SandboxPlan, unenforceableError, type WrappedCommand} from './plan.js';

/**
 * Sandbox of macOS. NEVER RUN: written from the documented language of profiles, without a machine to try it on.
 * Chosen by platform only.
 */
const SANDBOX_EXEC = '/usr/bin/sandbox-exec';
/** Sets the variables inside; unlike those of bubblewrap they are arguments, which other users can see. */
const ENV = '/usr/bin/env';

/** Rules every program needs to run at all. */
const BASE_PROFILE = [
	'(version 1)',
	'(deny default)',
	'(allow process-exec process-fork)',
	'(allow signal (target same-sandbox))',
	'(allow process-info* (target same-sandbox))',
	'(allow sysctl-read)',
	'(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))',
	'(allow pseudo-tty)',
	'(allow file-read* file-write* file-ioctl (literal "/dev/null") (literal "/dev/tty") (literal "/dev/zero"))',
	'(allow file-read* (literal "/dev/random") (literal "/dev/urandom") (literal "/"))',
];

export function seatbeltCommand(
	plan: SandboxPlan,
	{program, args, arg0, environment}: SandboxedCommand,
): WrappedCommand {
	if (arg0 !== undefined && arg0 !== program) throw unenforceableError('another arg0 does not survive `sandbox-exec`');
	if (program.includes('=')) throw unenforceableError(`\`env\` would take \`${program}\` for a variable`);
	const variables = [...environment].map(([name, value]) => `${name}=${value}`);
	return {
		file: SANDBOX_EXEC,
		argv: [SANDBOX_EXEC, '-p', seatbeltProfile(plan), ENV, '-i', ...variables, program, ...args],
		descriptors: [],
		// sandbox-exec replaces itself by the program.
		hasOwnSession: false,
	};
}

/** A program that runs as its owner or group would do so outside of the sandbox, too: no file is given such a mode. */
const SET_ID_RULE = '(deny file-write-setugid)';

/** Later rules win, as later mounts do. */
export function seatbeltProfile({mounts, network}: SandboxPlan): string {
	const rules = mounts.flatMap(toProfileRules);
	const networkRules = network === 'host' ? ['(allow network*)', '(allow system-socket)'] : [];
	return [...BASE_PROFILE, ...rules, SET_ID_RULE, ...networkRules].join('\n');
}

function toProfileRules(mount: Mount): string[] {
	const subpath = `(subpath ${JSON.stringify(mount.path)})`;
	switch (mount.kind) {
		case 'read':
			return [`(allow file-read* ${subpath})`, `(deny file-write* ${subpath})`];
		case 'write':
			return [`(allow file-read* file-write* ${subpath})`];
		case 'hidden':
			return [`(deny file-read* file-write* ${subpath})`];
		case 'pin':
			return [`(deny file-write-unlink (literal ${JSON.stringify(mount.path)}))`];
		case 'private':
			// Seatbelt has no view of its own: the host's directory stays inaccessible.
			return [];
		case 'link':
			return [`(allow file-read-metadata (literal ${JSON.stringify(mount.path)}))`];
	}
}
