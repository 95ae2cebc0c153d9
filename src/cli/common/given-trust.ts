import type {GivenTrust} from '../../environments/remote/remote-trust.js';
import type {OptionDefinition, OptionValues} from '../command-definition.js';

/** Options of every command that connects to servers. */
export const TRUST_OPTIONS: readonly OptionDefinition[] = [
	{
		flags: '--ca-file <FILE>',
		help: 'for wss:// and registry+https://: trust the authorities whose certificates are in this file (PEM), and no others',
		completes: {kind: 'file'},
	},
	{
		flags: '--tls-fingerprint <FINGERPRINT>',
		help: 'for wss:// and registry+https://: accept the certificate with this fingerprint (sha256:HEX), and no other',
	},
];

/** Given on the command line of this program; for every server it connects to. */
let given: GivenTrust = {};

export function rememberTrust({caFile, tlsFingerprint}: OptionValues): void {
	given = {
		...(typeof caFile === 'string' && {caFile}),
		...(typeof tlsFingerprint === 'string' && {fingerprint: tlsFingerprint}),
	};
}

export function givenTrust(): GivenTrust {
	return given;
}
