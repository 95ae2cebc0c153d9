import * as v from 'valibot';
import {optionalField, pathUri} from '../wire/fields.js';

const specialPath = v.variant('kind', [
	v.strictObject({kind: v.literal('root')}),
	v.strictObject({kind: v.literal('minimal')}),
	v.strictObject({kind: v.literal('tmpdir')}),
	v.strictObject({kind: v.literal('slash_tmp')}),
	v.strictObject({kind: v.picklist(['project_roots', 'current_working_directory']), subpath: v.optional(v.string())}),
	v.strictObject({kind: v.literal('unknown'), path: v.string(), subpath: v.optional(v.string())}),
]);

const entry = v.strictObject({
	path: v.variant('type', [
		v.strictObject({type: v.literal('path'), path: pathUri}),
		v.strictObject({type: v.literal('glob_pattern'), pattern: v.string()}),
		v.strictObject({type: v.literal('special'), value: specialPath}),
	]),
	access: v.picklist(['read', 'write', 'deny', 'none']),
	missing_path_behavior: v.optional(v.literal('skip')),
});

const network = v.picklist(['restricted', 'enabled']);

const permissions = v.variant('type', [
	v.strictObject({
		type: v.literal('managed'),
		file_system: v.variant('type', [
			v.strictObject({
				type: v.literal('restricted'),
				entries: v.array(entry),
				glob_scan_max_depth: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1))),
			}),
			v.strictObject({type: v.literal('unrestricted')}),
		]),
		network,
	}),
	v.strictObject({type: v.literal('disabled')}),
	v.strictObject({type: v.literal('external'), network}),
]);

/**
 * Sandbox policy: paths and network a process or a file operation may use. An unknown member is refused: it may be a
 * restriction.
 */
export const sandboxContext = v.strictObject({
	permissions,
	windowsSandboxLevel: v.picklist(['disabled', 'restricted-token', 'elevated', 'mxc']),
	cwd: optionalField(pathUri),
	workspaceRoots: v.optional(v.array(pathUri)),
	userHomeDir: optionalField(pathUri),
	temporaryDirectories: v.optional(v.array(pathUri)),
	sandboxOverride: v.optional(
		v.picklist(['noOverride', 'escalatedSandboxWithRestrictions', 'bypassSandboxFirstAttempt']),
	),
	policyContext: optionalField(
		v.strictObject({cwd: optionalField(pathUri), workspaceRoots: v.optional(v.array(pathUri))}),
	),
	windowsSandboxPrivateDesktop: v.optional(v.boolean()),
	windowsSandboxProxySettingsMode: optionalField(v.picklist(['reconcile', 'preserve'])),
	useLegacyLandlock: v.optional(v.boolean()),
});
