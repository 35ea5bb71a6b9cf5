import { type AddressPolicy, describeAddress, judgeUrlHost } from '../values/address.js';
import type { Fault } from '../values/fault.js';

type UrlFault = Omit<Fault, 'pointer'>;

const URL_LENGTH_MAX = 2048;
const HOST_LENGTH_MAX = 253;

// The URL parser silently drops tabs, line breaks and soft hyphens and turns a backslash into a slash, so the stored
// URL would differ from what its author sees.
const MISREAD = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\\]/u;

const fail = (code: string, detail: string): UrlFault => ({ code, detail });

/**
 * Returns what is wrong with a URL, without DNS. The addresses that a host name resolves to are checked for each connection. The URL parser
 * also accepts `https:host` and `https:///host`, drops empty user info, and reports an empty fragment as none, so this
 * function looks for these in the original text.
 */
export function faultOfUrl(text: string, policy: AddressPolicy): UrlFault | undefined {
  const tooLong = `The URL is longer than ${URL_LENGTH_MAX} characters, counted after percent-encoding.`;
  if (text.length > URL_LENGTH_MAX) return fail('url_too_long', tooLong);
  if (MISREAD.test(text)) {
    return fail(
      'invalid_url',
      'The URL contains white space, a control or invisible character, or a backslash; percent-encode it.',
    );
  }
  const scheme = /^([a-z][a-z0-9+.-]*):(?!\d)/i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== undefined && scheme !== 'https' && scheme !== 'http') {
    return fail('scheme_not_allowed', `The scheme "${scheme}" is not supported; use https.`);
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1];
  if (authority === undefined || !URL.canParse(text)) {
    return fail('invalid_url', 'The URL must be absolute and have a valid host, such as https://host/path.');
  }
  if (authority.includes('@')) {
    return fail(
      'user_info_not_allowed',
      'The URL contains a username or password; remove it, and verify the signature of each request instead.',
    );
  }
  if (text.includes('#')) {
    return fail(
      'fragment_not_allowed',
      'The URL has a fragment, which is never sent; remove "#" and everything after it.',
    );
  }
  const url = new URL(text);
  if (url.href.length > URL_LENGTH_MAX) return fail('url_too_long', tooLong);
  if (url.port === '0') return fail('invalid_url', 'Port 0 cannot be used.');
  return faultOfHost(url, policy);
}

function faultOfHost(url: URL, policy: AddressPolicy): UrlFault | undefined {
  const host = url.hostname.replace(/\.$/, '');
  if (host.length > HOST_LENGTH_MAX || host.split('.').includes('')) {
    return fail('invalid_url', `"${url.hostname}" is not a valid host name.`);
  }
  const verdict = judgeUrlHost(url.hostname, policy);
  if (verdict === 'blocked') {
    const literal = url.hostname.replace(/^\[|\]$/g, '');
    const what = /localhost\.?$/.test(literal) ? 'loopback' : describeAddress(literal);
    return fail(
      'address_not_allowed',
      `"${url.hostname}" is not a public address (${what}); use a host that is reachable from the internet. ` +
        'The operator of this service can allow other addresses (POSTHORN_EGRESS_ALLOW).',
    );
  }
  // What a host name resolves to is known only when connecting, and plain http is refused for any address that is not
  // on the list. Without a list, that is every address, so refuse plain http now.
  const mayBeListed = verdict === 'allowed' || (verdict === 'unknown' && !policy.allowsNothing);
  if (url.protocol === 'http:' && !mayBeListed) {
    return fail(
      'scheme_not_allowed',
      'Use https. The scheme "http" is accepted only for addresses that the operator of this service allows ' +
        '(POSTHORN_EGRESS_ALLOW).',
    );
  }
  return undefined;
}
