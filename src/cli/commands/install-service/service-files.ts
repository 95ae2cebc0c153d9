/** A service that runs `longarm serve`. */
export interface ServiceDescription {
	readonly name: string;
	/** Program and arguments. */
	readonly command: readonly string[];
	readonly variables: Readonly<Record<string, string>>;
	/** User of a service of the machine; undefined for one of the user. */
	readonly runAs: string | undefined;
	/** Time it may take to end. */
	readonly stopSeconds: number;
	/** Whether the server can start processes that outlive it (`--keep`). */
	readonly keepsProcesses: boolean;
}

/** First words of a file that may be replaced. */
export const MARK = 'Written by longarm install-service';

/**
 * A unit of systemd. SIGTERM goes to the server alone, which ends its processes in order. Settings that would take rights
 * from the processes of clients are left out, as are those that would keep sandboxes from working (RestrictNamespaces,
 * ProtectKernelTunables, ProtectKernelLogs) or V8 (MemoryDenyWriteExecute).
 */
export function renderUnit(service: ServiceDescription): string {
	const {name, command, variables, runAs, stopSeconds} = service;
	const isSystem = runAs !== undefined;
	return [
		`# ${MARK}; it may be replaced by it.`,
		'[Unit]',
		'Description=longarm exec server',
		...(isSystem ? ['Wants=network-online.target', 'After=network-online.target'] : []),
		'',
		'[Service]',
		'Type=exec',
		`ExecStart=${command.map(word => quoteForUnit(word)).join(' ')}`,
		'ExecReload=/bin/kill -HUP $MAINPID',
		...Object.entries(variables).map(
			([key, value]) => `Environment=${quoteForUnit(`${key}=${value}`, {inSetting: true})}`,
		),
		...(isSystem
			? [
					`User=${runAs}`,
					`RuntimeDirectory=${name}`,
					'RuntimeDirectoryMode=0700',
					`StateDirectory=${name}`,
					'StateDirectoryMode=0700',
				]
			: []),
		...renderKillMode(service),
		`TimeoutStopSec=${stopSeconds}`,
		'Restart=on-failure',
		'RestartSec=1',
		'# A process of a client that runs out of memory does not end the server.',
		'OOMPolicy=continue',
		'# Control groups below its own, for children-memory and children-processes.',
		'Delegate=yes',
		'LimitNOFILE=65536',
		...(isSystem ? ['NoNewPrivileges=yes', 'ProtectKernelModules=yes', 'RestrictRealtime=yes'] : []),
		'',
		'[Install]',
		`WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}`,
		'',
	].join('\n');
}

/**
 * Kept processes are in the control group of the unit: systemd must not end what the server has left there. The watchdog
 * of the server ends everything else if the server is killed. A server that keeps nothing may have no watchdog.
 */
function renderKillMode({keepsProcesses}: ServiceDescription): string[] {
	if (!keepsProcesses) return ['KillMode=mixed'];
	return [
		'# Processes that were started with --keep outlive a stop and a restart. The server ends all others, and if it is',
		'# killed, its watchdog does.',
		'KillMode=process',
	];
}

/** A property list of launchd. */
export function renderPropertyList({name, command, variables, runAs, stopSeconds}: ServiceDescription): string {
	const entries = Object.entries(variables).map(([key, value]) => `<key>${escapeXml(key)}</key>${toXmlString(value)}`);
	return [
		'<?xml version="1.0" encoding="UTF-8"?>',
		`<!-- ${MARK}; it may be replaced by it. -->`,
		'<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
		'<plist version="1.0"><dict>',
		`<key>Label</key>${toXmlString(name)}`,
		`<key>ProgramArguments</key><array>${command.map(toXmlString).join('')}</array>`,
		`<key>EnvironmentVariables</key><dict>${entries.join('')}</dict>`,
		...(runAs === undefined ? [] : [`<key>UserName</key>${toXmlString(runAs)}`]),
		'<key>RunAtLoad</key><true/>',
		'<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
		`<key>ExitTimeOut</key><integer>${stopSeconds}</integer>`,
		'</dict></plist>',
		'',
	].join('\n');
}

/** A word of a unit; `%t` at the beginning of a path, which systemd replaces, is written as `SPECIFIER_RUNTIME`. */
function quoteForUnit(word: string, {inSetting = false} = {}): string {
	const escaped = word
		.replaceAll('%', '%%')
		.replaceAll('\\', '\\\\')
		.replaceAll('"', '\\"')
		// Variables are replaced in commands only.
		.replaceAll('$', inSetting ? '$' : '$$$$')
		.replace(SPECIFIER_RUNTIME, '%t');
	return /^[\w%@:=,./$-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** Stands for the directory of the user's sockets; no path has it. */
export const SPECIFIER_RUNTIME = '\0RUNTIME';

function escapeXml(text: string): string {
	return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function toXmlString(value: string): string {
	return `<string>${escapeXml(value)}</string>`;
}
