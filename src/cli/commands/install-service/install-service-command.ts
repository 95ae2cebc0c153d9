import {mkdirSync, readFileSync, realpathSync, writeFileSync} from 'node:fs';
import {homedir} from 'node:os';
import {dirname, join} from 'node:path';
import {isKoffiInstalled} from '../../../shared/node/koffi.js';
import {parseDuration} from '../../../shared/units.js';
import {EXIT, usageError} from '../../exit-codes.js';
import {parseListenSetting} from '../serve/serve-endpoint.js';
import type {Settings} from '../serve/serve-settings.js';
import {parseServeOptions} from './serve-options.js';
import {MARK, renderPropertyList, renderUnit, type ServiceDescription, SPECIFIER_RUNTIME} from './service-files.js';

/** Time to end beyond that of the processes. */
const STOP_MARGIN_SECONDS = 10;
const NAME = /^[A-Za-z][\w.-]{0,63}$/;
const USER = /^[A-Za-z_][\w.-]{0,31}$/;

export interface ServiceRequest {
	/** Options of `longarm serve`. */
	readonly serveOptions: readonly string[];
	readonly isSystem: boolean;
	readonly isUser: boolean;
	readonly runAs: string | undefined;
	readonly name: string;
	readonly drain: string | undefined;
	readonly printsOnly: boolean;
}

/** The file of a service, where it belongs, and how to go on. */
interface Plan {
	readonly path: string;
	readonly text: string;
	readonly nextCommands: readonly string[];
}

/** Writes the file of a service, or prints it. */
export function installService(request: ServiceRequest): number {
	requireConsistent(request);
	const {path, text, nextCommands} = process.platform === 'darwin' ? planLaunchd(request) : planSystemd(request);
	if (request.printsOnly) {
		process.stdout.write(text);
		return EXIT.ok;
	}
	const isReplaced = write(path, text);
	const steps = nextCommands.map(command => `  ${command}\n`).join('');
	process.stdout.write(`${isReplaced ? 'replaced' : 'wrote'} ${path}\nnext:\n${steps}`);
	return EXIT.ok;
}

function requireConsistent({isSystem, isUser, runAs, name}: ServiceRequest): void {
	if (process.platform === 'win32') throw usageError('there are no files of services to write on Windows');
	if (isSystem && isUser) throw usageError('--user and --system exclude each other');
	if (isSystem && runAs === undefined)
		throw usageError('--system needs --run-as USER: clients can do what that user can');
	if (!isSystem && runAs !== undefined) throw usageError('--run-as goes with --system only');
	if (!NAME.test(name)) throw usageError(`\`${name}\` is no name for a service`);
	if (runAs !== undefined && !USER.test(runAs)) throw usageError(`\`${runAs}\` is no name of a user`);
}

function planSystemd(request: ServiceRequest): Plan {
	const {name, isSystem} = request;
	const file = `${name}.service`;
	const socket = isSystem ? `/run/${name}/longarm.sock` : `${SPECIFIER_RUNTIME}/${name}.sock`;
	const service = toService(request, socket);
	const text = renderUnit(isSystem ? withState(service, `/var/lib/${name}`) : service);
	if (isSystem) {
		const nextCommands = ['systemctl daemon-reload', `systemctl enable --now ${name}`, `journalctl -u ${name} -f`];
		return {path: join('/etc/systemd/system', file), text, nextCommands};
	}
	const home = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config');
	const nextCommands = [
		'systemctl --user daemon-reload',
		`systemctl --user enable --now ${name}`,
		'loginctl enable-linger      # it runs on when you are logged out',
		...(request.serveOptions.length === 0 ? [`longarm env add here "unix:$XDG_RUNTIME_DIR/${name}.sock"`] : []),
	];
	return {path: join(home, 'systemd/user', file), text, nextCommands};
}

/** Not run on a Mac. */
function planLaunchd(request: ServiceRequest): Plan {
	const {name, isSystem} = request;
	const socket = isSystem ? `/var/run/${name}/longarm.sock` : join(homedir(), `.longarm/${name}.sock`);
	const directory = isSystem ? '/Library/LaunchDaemons' : join(homedir(), 'Library/LaunchAgents');
	const path = join(directory, `${name}.plist`);
	const domain = isSystem ? 'system' : 'gui/$(id -u)';
	return {
		path,
		text: renderPropertyList(toService(request, socket)),
		nextCommands: [`launchctl bootstrap ${domain} ${path}`],
	};
}

function toService(request: ServiceRequest, socket: string): ServiceDescription {
	const {name, runAs, drain, serveOptions, isSystem} = request;
	const given = drain === undefined ? serveOptions : [...serveOptions, '--drain', drain];
	if (drain !== undefined && parseDuration(drain) === undefined) throw usageError(`--drain: \`${drain}\` is no time`);
	const settings = parseServeOptions(given);
	parseListenSetting(settings.listen);
	const listens = given.some(option => /^--(?:listen|config)(?:=|$)/.test(option));
	const options = listens ? given : ['--listen', `unix:${socket}`, ...given];
	const endMs = settings.drain + settings['shutdown-grace'];
	return {
		name,
		command: [process.execPath, ownProgram(), 'serve', ...options],
		variables: isSystem ? {} : pick(process.env, ['PATH', 'LONGARM_HOME']),
		runAs,
		stopSeconds: Math.ceil(endMs / 1000) + STOP_MARGIN_SECONDS,
		keepsProcesses: canKeepProcesses(settings),
	};
}

/** A limit for all children together needs a control group that ends with the server. */
function canKeepProcesses(settings: Settings): boolean {
	const hasGroup = settings['children-memory'] !== undefined || settings['children-processes'] !== undefined;
	return isKoffiInstalled() && !hasGroup;
}

/** A service of the machine keeps its certificate where it may write. */
function withState(service: ServiceDescription, directory: string): ServiceDescription {
	return {...service, variables: {...service.variables, LONGARM_HOME: directory}};
}

function ownProgram(): string {
	const path = realpathSync(process.argv[1]!);
	if (!path.includes('/_npx/')) return path;
	throw usageError(
		'longarm was started by npx, which may remove it at any time: install it first (npm install -g longarm)',
	);
}

function pick(variables: NodeJS.ProcessEnv, names: readonly string[]): Record<string, string> {
	return Object.fromEntries(names.flatMap(name => (variables[name] ? [[name, variables[name]]] : [])));
}

/** Whether there was one already. */
function write(path: string, text: string): boolean {
	let before: string | undefined;
	try {
		before = readFileSync(path, 'utf8');
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
	}
	if (before !== undefined && !before.slice(0, 200).includes(MARK)) {
		throw usageError(`${path} is there already and not of longarm; choose another --name, or remove it`);
	}
	mkdirSync(dirname(path), {recursive: true});
	writeFileSync(path, text);
	return before !== undefined;
}
