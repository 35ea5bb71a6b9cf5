import { Posthorn, PosthornError } from '@posthorn/client';
import { type Command, CommandFailure, type Context, UsageError } from '../command.js';
import { apiCommand, defaultUrl, linkOf, retry, validToken } from '../connection.js';
import { json, organizationText } from '../listing.js';
import { Profiles } from '../profiles.js';
import { promptHidden, promptText } from '../prompt.js';
import { day } from '../short-time.js';

export const login: Command = {
  name: 'login',
  summary: 'Check an access token and store it with the URL as a profile, in a file that only you can read.',
  argument: {
    name: 'link',
    description:
      'A link to the console that contains a token (…/console#token=…). Replaces --url and --token. Other users of this ' +
      'machine can see it; you can also paste it when the command asks for a token.',
    optional: true,
  },
  options: {
    profile: { value: 'name', description: 'Name of the profile.', fallback: 'default' },
    url: { value: 'URL', description: 'Address of the service. Environment: POSTHORN_URL.' },
    token: {
      value: 'token',
      description:
        'Access token. If omitted, the command asks for it, or reads it from standard input if that is not a terminal.',
    },
    json,
  },
  run: async (context) => {
    const { options, env, terminal } = context;
    const profiles = new Profiles(env);
    const name = options.profile ?? 'default';
    if (!/^[\w.-]{1,64}$/.test(name))
      throw new UsageError(`--profile: '${name}' is not valid. Use letters, digits, '.', '_' and '-'.`);
    const stored = await profiles.find(name);
    const suggested = env.POSTHORN_URL || stored?.profile.url || defaultUrl;
    const { url, token } = await given(context, suggested);
    if (token === '') throw new UsageError('The token is empty. Run posthorn login and paste a token.');
    const own = await new Posthorn({ url, token, retry }).token().catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      if (error.code === 'unexpected_response') throw new CommandFailure(`${url}: ${error.detail}`);
      if (error.status === 401)
        throw new CommandFailure(
          `${url} does not accept this token: it is unknown, expired or revoked. Ask an operator for a new one ` +
            '(posthorn token create), then run posthorn login again.',
        );
      throw error;
    });
    await profiles.store(name, { url, token });
    if (options.json) terminal.line(JSON.stringify({ profile: name, url, ...own }));
    else {
      terminal.line(
        `Logged in to ${url} for ${organizationText(own.organization_id, own.organization_name)}, as profile '${name}'.`,
      );
      if (terminal.isInteractive) terminal.hint(`Stored in ${profiles.file}. Next: posthorn listen`);
    }
    const overriding = ['POSTHORN_URL', 'POSTHORN_TOKEN'].filter((variable) => env[variable]);
    for (const variable of overriding)
      terminal.note(`${variable} is set and overrides the stored profile. Unset it to use the profile.`);
  },
};

const tokenPrompt = 'Access token, or the link to the console that contains it';

/** Returns where to log in, and with which token. A link to the console contains both. */
async function given(context: Context, suggested: string): Promise<{ url: string; token: string }> {
  const { options, argument } = context;
  const place = argument || options.url;
  const link = place ? linkOf(place) : undefined;
  const text = options.token ?? link?.token ?? (await promptHidden(context, tokenPrompt));
  const own = text.includes('#token=') ? linkOf(text) : undefined;
  // Asked last: a link, which is pasted without being shown, contains the address.
  const url =
    link?.url ?? own?.url ?? linkOf(await promptText(context, 'Address of the service', suggested)).url;
  return { url, token: validToken(own?.token ?? text) };
}

export const logout: Command = {
  name: 'logout',
  summary: 'Remove a stored profile. The token stays valid: only an operator can revoke it.',
  options: {
    profile: { value: 'name', description: 'Name of the profile. Default: the current one.' },
    json,
  },
  run: async ({ options, env, terminal }) => {
    const profiles = new Profiles(env);
    const name = options.profile ?? (await profiles.find())?.name;
    if (name === undefined || !(await profiles.remove(name))) {
      const names = await profiles.names();
      const next =
        names.length === 0
          ? 'There are no profiles. Run posthorn login to store one.'
          : `The profiles are ${names.join(', ')}. Run posthorn logout --profile name.`;
      throw new CommandFailure(`No profile was removed. ${next}`);
    }
    terminal.line(options.json ? JSON.stringify({ profile: name }) : `Removed profile '${name}'.`);
  },
};

export const whoami = apiCommand({
  name: 'whoami',
  summary: 'Show the URL in use, and the organization, scopes and expiry of the token.',
  options: { json },
  run: async ({ options, terminal, posthorn, url, profile }) => {
    const token = await posthorn.token().catch((error: unknown) => {
      if (!(error instanceof PosthornError)) throw error;
      if (error.status === 0)
        throw new CommandFailure(`${error.detail} Check the URL, or run posthorn login --url URL.`);
      if (error.code === 'unexpected_response') throw new CommandFailure(`${url}: ${error.detail}`);
      throw error;
    });
    if (options.json) {
      terminal.line(JSON.stringify({ url, profile: profile ?? null, ...token }));
      return;
    }
    terminal.fields([
      ['URL', url],
      ['Profile', profile ?? '-'],
      ['Organization', organizationText(token.organization_id, token.organization_name)],
      ['Workspace', token.workspace_id ?? 'all'],
      ['Scopes', token.scopes.join(', ')],
      ['Actor', `${token.actor.type} ${token.actor.id}`],
      ['Token', `${token.id}, expires on ${day(new Date(token.expires_at))} (UTC)`],
    ]);
  },
});
