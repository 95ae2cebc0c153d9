import {isAbsoluteWindowsPath} from '../../protocol/path-uri/path-uri-windows.js';
import type {AccessOptions, SandboxContext} from './files.js';

/** The member of a request that says what it may touch; where the caller works goes along only if that matters. */
export function sandboxMember({sandbox}: AccessOptions): {sandbox?: SandboxContext} {
	if (!sandbox) return {};
	if (dependsOnPlace(sandbox)) return {sandbox};
	const {cwd: _cwd, workspaceRoots: _roots, ...rest} = sandbox;
	return {sandbox: rest};
}

function dependsOnPlace({permissions}: SandboxContext): boolean {
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
