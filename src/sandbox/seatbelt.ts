import type {Mount, SandboxPlan} from './plan.js';
import {unenforceable} from './refusals.js';
import type {SandboxedCommand, WrappedCommand} from './sandboxed-command.js';

/**
 * The sandbox of macOS. NEVER RUN: written from the documented language of profiles, without a machine to try it on.
 * Chosen by platform only.
 */
const SANDBOX_EXEC = '/usr/bin/sandbox-exec';

/** What any program needs to run at all. */
const BASE = [
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

export function seatbeltCommand(plan: SandboxPlan, {program, args, arg0}: SandboxedCommand): WrappedCommand {
	if (arg0 !== undefined && arg0 !== program) throw unenforceable('another arg0 does not survive `sandbox-exec`');
	return {
		file: SANDBOX_EXEC,
		argv: [SANDBOX_EXEC, '-p', seatbeltProfile(plan), program, ...args],
		descriptors: [],
		// It replaces itself by the program.
		ownSession: false,
	};
}

/** Rules that come later win, as mounts that come later do. */
export function seatbeltProfile({mounts, network}: SandboxPlan): string {
	const rules = mounts.flatMap(ruleOf);
	return [...BASE, ...rules, ...(network === 'host' ? ['(allow network*)', '(allow system-socket)'] : [])].join('\n');
}

function ruleOf(mount: Mount): string[] {
	const place = `(subpath ${JSON.stringify(mount.path)})`;
	switch (mount.kind) {
		case 'read':
			return [`(allow file-read* ${place})`, `(deny file-write* ${place})`];
		case 'write':
			return [`(allow file-read* file-write* ${place})`];
		case 'hidden':
			return [`(deny file-read* file-write* ${place})`];
		case 'link':
			return [`(allow file-read-metadata (literal ${JSON.stringify(mount.path)}))`];
	}
}
