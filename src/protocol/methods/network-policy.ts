import * as v from 'valibot';
import {type Capabilities, serverNotification, serverRequest} from './declare-method.js';

const policyRequestParams = v.object({
	processId: v.string(),
	request: v.object({
		protocol: v.picklist(['http', 'https_connect', 'socks5_tcp', 'socks5_udp']),
		host: v.string(),
		port: v.number(),
	}),
});

const policyRequestResult = v.object({
	decision: v.variant('type', [
		v.object({type: v.literal('allow')}),
		v.object({type: v.literal('deny'), reason: v.string()}),
		v.object({type: v.literal('ask'), reason: v.string()}),
	]),
});

const policyDecisionParams = v.object({
	processId: v.string(),
	timestamp: v.string(),
	scope: v.picklist(['domain', 'non_domain']),
	decision: v.picklist(['allow', 'deny', 'ask']),
	source: v.picklist(['baseline_policy', 'mode_guard', 'proxy_state', 'decider']),
	reason: v.string(),
	protocol: v.string(),
	host: v.string(),
	port: v.number(),
	method: v.nullish(v.string()),
	client: v.nullish(v.string()),
	policyOverride: v.optional(v.boolean(), false),
});

export const NETWORK_CAPABILITIES: Capabilities = {networkProxyLaunch: false, networkProxyReviewDomains: false};

/** Connections of processes behind a proxy. */
export const NETWORK_METHODS = {
	'network/policyRequest': serverRequest({
		family: 'network policy',
		since: '2026-08',
		params: policyRequestParams,
		result: policyRequestResult,
		summary: 'Whether a process may open a connection.',
	}),
	'network/policyDecision': serverNotification({
		family: 'network policy',
		since: '2026-08',
		params: policyDecisionParams,
		summary: 'What was decided about a connection.',
	}),
} as const;
