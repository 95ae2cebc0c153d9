import * as v from 'valibot';
import {type BytePath, joinPath} from '../../filesystem/byte-path.js';
import {listDirectory} from '../../filesystem/directories.js';
import {isErrno} from '../../filesystem/file-errors.js';
import {preferredCalls} from '../../filesystem/syscalls.js';
import type {ResultOnWire} from '../../protocol/methods/method-table.js';
import {PathUri} from '../../protocol/path-uri/path-uri.js';
import {CapabilityRoot, nameOr, type TextFile} from './capability-root.js';
import {compareVersions} from './plugin-versions.js';

type Plugin = ResultOnWire<'capabilities/discoverV2'>['plugins'][number];

/** Entries that are examined in one directory of the plugin cache. */
const MAX_CACHE_ENTRIES = 10_000;
/** Installed plugins that are reported. */
const MAX_PLUGINS = 1000;
const MARKETPLACE_NAME = /^[\w-]+$/;
const PLUGIN_NAME = /^[\w-]+(?:\.[\w-]+)*$/;
const VERSION_NAME = /^(?!\.{1,2}$)[\w.+-]+$/;
/** The version of a plugin that is being developed on this machine; it comes before all others. */
const LOCAL_VERSION = 'local';
const REMOTE_INSTALLATION = '.codex-remote-plugin-install.json';

const manifestSchema = v.object({
	name: v.optional(v.string(), ''),
	mcpServers: v.optional(v.unknown()),
	apps: v.nullish(v.string()),
	interface: v.nullish(v.object({displayName: v.nullish(v.string())})),
});
const remoteSchema = v.object({
	schema_version: v.literal(1),
	remote_plugin_id: v.pipe(v.string(), v.trim(), v.nonEmpty()),
});

/** A place of the cache of installed plugins. */
interface Installation {
	readonly id: string;
	/** Directory of all its versions. */
	readonly base: BytePath;
	readonly version: string;
}

export interface FoundPlugins {
	readonly plugins: readonly Plugin[];
	/** Places that could not be looked at. */
	readonly hasUnknownPlaces: boolean;
	/** Plugins of which something could not be read or understood. */
	readonly incompleteCount: number;
}

/** The newest version of each installed plugin, by id. */
export async function findInstalledPlugins(cache: BytePath): Promise<FoundPlugins> {
	const places = new CachePlaces();
	const installations = (await places.list(cache)).slice(0, MAX_PLUGINS);
	const plugins: Plugin[] = [];
	let incompleteCount = 0;
	for (const installation of installations) {
		const root = new CapabilityRoot(joinPath(installation.base, installation.version));
		const plugin = await readPlugin(installation, root, await places.readRemoteId(installation));
		if (plugin) plugins.push(plugin);
		if (!plugin || root.isIncomplete) incompleteCount++;
	}
	return {plugins, hasUnknownPlaces: places.isIncomplete, incompleteCount};
}

class CachePlaces {
	isIncomplete = false;

	async list(cache: BytePath): Promise<Installation[]> {
		const found: Installation[] = [];
		for (const marketplace of await this.#listNames(cache, MARKETPLACE_NAME)) {
			for (const name of await this.#listNames(joinPath(cache, marketplace), PLUGIN_NAME)) {
				const base = joinPath(joinPath(cache, marketplace), name);
				const version = pickVersion(await this.#listNames(base, VERSION_NAME, {isReal: true}));
				if (version !== undefined) found.push({id: `${name}@${marketplace}`, base, version});
			}
		}
		if (found.length > MAX_PLUGINS) this.isIncomplete = true;
		return found.sort((one, other) => (one.id < other.id ? -1 : 1));
	}

	/** The id that a plugin of a remote catalogue has there. */
	async readRemoteId({base}: Installation): Promise<string | null> {
		const root = new CapabilityRoot(base);
		const file = await root.read(joinPath(base, REMOTE_INSTALLATION));
		const found = file && v.safeParse(remoteSchema, parseObject(file.contents));
		if (root.isIncomplete || found?.success === false) this.isIncomplete = true;
		return found?.success ? found.output.remote_plugin_id : null;
	}

	/** Names of directories, by default also of links, which may lead to one. */
	async #listNames(directory: BytePath, pattern: RegExp, {isReal = false} = {}): Promise<string[]> {
		try {
			const entries = await listDirectory(preferredCalls(), directory, MAX_CACHE_ENTRIES);
			if (entries.length > MAX_CACHE_ENTRIES) this.isIncomplete = true;
			return entries
				.slice(0, MAX_CACHE_ENTRIES)
				.filter(entry => entry.isDirectory() || (!isReal && entry.isSymbolicLink()))
				.flatMap(({name}) => (pattern.test(name) ? [name] : []));
		} catch (error) {
			if (!isErrno(error, 'ENOENT', 'ENOTDIR')) this.isIncomplete = true;
			return [];
		}
	}
}

function pickVersion(versions: readonly string[]): string | undefined {
	return versions.includes(LOCAL_VERSION) ? LOCAL_VERSION : [...versions].sort(compareVersions).at(-1);
}

/** Undefined for a plugin without a manifest that can be understood. */
async function readPlugin(
	{id, version}: Installation,
	root: CapabilityRoot,
	remotePluginId: string | null,
): Promise<Plugin | undefined> {
	const file = await root.readManifest();
	const manifest = file && v.safeParse(manifestSchema, parseObject(file.contents));
	if (!file || !manifest?.success) return undefined;
	const {name, mcpServers, apps, interface: shown} = manifest.output;
	const isInline = typeof mcpServers === 'object' && mcpServers !== null && !Array.isArray(mcpServers);
	const mcpConfig = isInline
		? {path: file.path, contents: JSON.stringify(mcpServers)}
		: await readDeclared(root, mcpServers, '.mcp.json');
	return {
		id,
		displayName: shown?.displayName?.trim() || nameOr(name, root.path),
		remotePluginId,
		version,
		root: PathUri.fromBinary(root.path).href,
		files: {manifest: file, mcpConfig, appsConfig: await readDeclared(root, apps, '.app.json')},
		skills: await root.findSkills(),
	};
}

/** A file that the manifest names by a path below the plugin; the usual one if it names none, or another path. */
async function readDeclared(root: CapabilityRoot, declared: unknown, usual: string): Promise<TextFile | null> {
	if (typeof declared === 'string') {
		const parts = declared.split(/[/\\]/);
		if (parts[0] === '.' && parts.slice(1).join('') !== '' && !parts.includes('..')) {
			const file = await root.read(joinPath(root.path, Buffer.from(declared.slice(2)).toString('latin1')));
			if (!file) root.isIncomplete = true;
			return file ?? null;
		}
		root.isIncomplete = true;
	}
	return (await root.read(joinPath(root.path, usual))) ?? null;
}

/** Undefined for text that is not a JSON object. */
function parseObject(text: string): unknown {
	try {
		const value: unknown = JSON.parse(text);
		return Array.isArray(value) ? undefined : value;
	} catch {
		return undefined;
	}
}
