import {isAbsoluteWindowsPath} from '../../protocol/path-uri/path-uri-windows.js';
import type {AccessOptions, SandboxContext} from './files.js';

/** The `sandbox` member of a request; its working directory is sent only if the policy depends on it. */
export function sandboxMember({sandbox}: AccessOptions): {sandbox?: SandboxContext} {
	if (!sandbox) return {};
	if (dependsOnDirectory(sandbox)) return {sandbox};
	const {cwd: _cwd, workspaceRoots: _roots, ...rest} = sandbox;
	return {sandbox: rest};
}

function dependsOnDirectory({permissions}: SandboxContext): boolean {
	if (permissions.type !== 'managed' || permissions.file_system.type !== 'restricted') return false;
	return permissions.file_system.entries.some(({path}) => {
		switch (path.type) {
			case 'path':
				return false;
			case 'glob_pattern':
				return !path.pattern.startsWith('/') && !isAbsoluteWindowsPath(path.pattern);
			case 'special':
				return path.value.kind === 'project_roots' || path.value.kind === 'current_working_directory';
		}
	});
}
