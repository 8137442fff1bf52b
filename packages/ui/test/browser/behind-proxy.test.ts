/** The dashboard in a folder of another site: addresses are relative, and commands that it shows name the folder. */
import assert from 'node:assert/strict'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openPage } from './browser.ts'
import { openServed } from './served.ts'

const folder = '/tools/heddle'

/** Passes everything below the folder on, as a reverse proxy does. */
async function openProxy(target: string): Promise<AsyncDisposable & { readonly url: string }> {
  const server = http.createServer((request, response) => {
    if (!request.url!.startsWith(`${folder}/`)) {
      response.writeHead(404).end()
      return
    }
    const { method, headers } = request
    const passed = http.request(
      `${target}${request.url!.slice(folder.length)}`,
      { method: method!, headers },
      (answer) => {
        response.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(response)
      },
    )
    passed.on('error', () => response.destroy())
    response.on('close', () => passed.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}${folder}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('behind a proxy in a folder: a run is watched live and steered, and the command for a worker names the folder', async () => {
  await using served = await openServed()
  await using proxy = await openProxy(served.url)
  const run = await served.start('diamond')
  const { page, context, problems } = await openPage(`${proxy.url}/ui/#/runs/${run}/nodes`)
  const head = page.locator('.run-head')
  await head.getByText('running', { exact: true }).waitFor()
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Pause this run?' }).waitFor()
  await page.keyboard.press('Enter')
  await head.getByText('paused', { exact: true }).waitFor()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.keyboard.press('p')
  await page.getByRole('dialog', { name: 'Resume this run?' }).waitFor()
  await page.keyboard.press('Enter')
  for (const gate of ['fetch', 'left', 'right', 'join']) served.gates.open(gate)
  await head.getByText('succeeded', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Graph', exact: true }).click()
  // Laid out by a worker, whose file comes from the folder too.
  await page.locator('.graph-area[aria-busy=false]').waitFor()
  await page.getByRole('link', { name: 'Fleet' }).click()
  await page.getByText(`npx heddle work --server ${proxy.url} `).waitFor()
  assert.deepEqual(problems, [])
  await context.close()
})
