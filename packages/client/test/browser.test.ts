import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, hasChromium, launch } from '../../console/test/support/browser.js';
import { openDoor } from '../../console/test/support/door.js';
import { sharedService } from '../../server/test/support/service.js';
import { newTenant, type Tenant } from '../../server/test/support/tenant.js';

describe.runIf(hasChromium)(
  `the client in a browser${hasChromium ? '' : ` (skipped: no ${chromiumPath})`}`,
  async () => {
    const service = await sharedService();
    const door = await openDoor(service.publicUrl);
    const dist = new URL('../dist/', import.meta.url);
    let browser: Browser;
    let page: Page;
    let tenant: Tenant;

    /** A page of the service's origin that has the client as `client`, and an object of it as `posthorn`. */
    beforeAll(async () => {
      browser = await launch();
      page = await browser.newPage();
      tenant = await newTenant(service);
      await page.route('**/client/*', async (route) => {
        const name = basename(new URL(route.request().url()).pathname);
        if (name === 'page') return route.fulfill({ contentType: 'text/html', body: '<!doctype html>' });
        const body = await readFile(new URL(name, dist), 'utf8');
        return route.fulfill({ contentType: 'text/javascript', body });
      });
      await page.goto(`${door.url}/client/page`);
      await page.evaluate(`import('/client/index.js').then((client) => {
        const token = ${JSON.stringify(tenant.token)};
        const organization_id = ${JSON.stringify(tenant.organization)};
        const posthorn = new client.Posthorn({ url: location.origin, token });
        Object.assign(globalThis, { client, posthorn, organization_id });
      })`);
    });
    afterAll(() => browser?.close());

    async function record(count: number): Promise<string[]> {
      const ids: string[] = [];
      while (ids.length < count) ids.push((await tenant.record()).id);
      return ids;
    }

    const said = (text: string) => page.waitForEvent('console', (message) => message.text() === text);

    it('yields every result of a list', async () => {
      const recorded = await record(5);
      const seen = await page.evaluate(`(async () => {
        const seen = [];
        for await (const { id } of posthorn.events.list({ organization_id, order: 'asc', limit: 2 })) seen.push(id);
        return seen;
      })()`);
      expect(seen).toEqual(recorded);
    });

    it('throws problems as errors with code, errors and request id', async () => {
      const problem =
        await page.evaluate(`posthorn.events.list({ organization_id, limit: 0 }).first().catch((error) => ({
        isTyped: error instanceof client.PosthornError,
        ...{ status: error.status, code: error.code, errors: error.errors, requestId: error.requestId },
      }))`);
      expect(problem).toMatchObject({
        ...{ isTyped: true, status: 400, code: 'invalid_parameter', requestId: expect.stringMatching(/./) },
        errors: [{ parameter: 'limit' }],
      });
    });

    it('keeps following new events after a lost connection', async () => {
      const isConnected = said('connected');
      const hasThree = said('seen 3');
      const following = page.evaluate(`(async () => {
        const seen = [];
        const onConnect = () => console.info('connected');
        for await (const { id } of posthorn.events.tail({ organization_id }, { onConnect })) {
          console.info('seen ' + seen.push(id));
          if (seen.length === 6) return seen;
        }
      })()`);
      await isConnected;
      const recorded = await record(3);
      await hasThree;
      await door.shut();
      recorded.push(...(await record(2)));
      await door.open();
      recorded.push(...(await record(1)));
      expect(await following).toEqual(recorded);
    });
  },
);
