import {readFileSync} from 'node:fs';

/** Kernel settings that keep unprivileged users from creating namespaces. */
const USER_NAMESPACE_RESTRICTIONS = [
	{file: '/proc/sys/user/max_user_namespaces', value: '0'},
	{file: '/proc/sys/kernel/unprivileged_userns_clone', value: '0'},
	{file: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns', value: '1'},
];

/** True if a kernel setting keeps this user from creating namespaces. */
export function areUserNamespacesForbidden(): boolean {
	return process.geteuid?.() !== 0 && USER_NAMESPACE_RESTRICTIONS.some(({file, value}) => readIfExists(file) === value);
}

function readIfExists(file: string): string | undefined {
	try {
		return readFileSync(file, 'utf8').trim();
	} catch {
		// The kernel has no such setting.
		return undefined;
	}
}
