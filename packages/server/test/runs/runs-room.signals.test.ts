import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { Graph, job } from '@heddle/core'
import { connect, type Client, type RunsChange } from '../../src/client/index.ts'
import { startServer, type Server } from '../../src/server.ts'

const ask = job({ name: 'ask' }, async (_: void, ctx) => {
  const answer = await ctx.waitFor('approval')
  return { answer }
})

function release(): Graph {
  const graph = new Graph()
  graph.add('ask', ask)
  return graph
}

interface Place {
  readonly server: Server
  readonly client: Client
}

async function serve(t: TestContext): Promise<Place> {
  const folder = await mkdtemp(path.join(tmpdir(), 'heddle-signals-'))
  const store = `sqlite:${path.join(folder, 'serve.db')}`
  const server = await startServer({ jobs: { ask, graphs: { release } }, port: 0, store })
  t.after(async () => {
    await server[Symbol.asyncDispose]()
    await rm(folder, { recursive: true, force: true })
  })
  return { server, client: connect({ url: server.url }) }
}

async function start({ client }: Place): Promise<string> {
  const { body } = await client.call('POST /runs', { body: { graph: 'release' } })
  return body.run!
}

/** Follows a run to its end. */
async function ended({ client }: Place, id: string): Promise<void> {
  const options = { params: { id }, query: { after: 0 } }
  for await (const { event } of client.events('GET /runs/:id/events', options)) {
    if (event === 'end') return
  }
}

async function answerOf({ client }: Place, id: string): Promise<unknown> {
  const params = { id, name: 'ask' }
  return (await client.call('GET /runs/:id/nodes/:name/result', { params })).body
}

const code = (wanted: string) => (error: { code: string }) => error.code === wanted

test('a signal over HTTP reaches the job that waits for it, and not a run that has ended', async (t) => {
  const place = await serve(t)
  const id = await start(place)
  const params = { id, name: 'approval' }
  const value = { by: 'ada', ok: true }
  const sent = await place.client.call('POST /runs/:id/signals/:name', { params, body: { value } })
  assert.deepEqual([sent.status, sent.body], [202, { run: id, signal: 'approval' }])
  await ended(place, id)
  assert.deepEqual(await answerOf(place, id), { answer: value })
  await assert.rejects(
    place.client.call('POST /runs/:id/signals/:name', { params, body: { value } }),
    code('run_ended'),
  )
  await assert.rejects(
    place.client.call('POST /runs/:id/signals/:name', {
      params: { id: 'none', name: 'approval' },
      body: {},
    }),
    code('unknown_run'),
  )
})

async function makeLink({ client }: Place, id: string, body: object = {}): Promise<string> {
  const made = await client.call('POST /runs/:id/signals/:name/links', {
    params: { id, name: 'approval' },
    body,
  })
  assert.equal(made.status, 201)
  return made.body.link
}

function post({ server }: Place, link: string, value: string): Promise<Response> {
  return fetch(server.url + link, {
    method: 'POST',
    // The body that a browser sends for the form of the page.
    headers: { 'content-type': 'application/x-www-form-urlencoded', origin: server.url },
    body: new URLSearchParams({ value }).toString(),
  })
}

test('A1, A2 an approval link shows a page, and answers the run once', async (t) => {
  const place = await serve(t)
  const id = await start(place)
  const text = 'Release 2.0 to <everyone>?'
  const link = await makeLink(place, id, { text, choices: ['yes', 'no & never'] })
  for (let look = 0; look < 2; look++) {
    const shown = await fetch(place.server.url + link)
    const page = await shown.text()
    assert.equal(shown.status, 200)
    assert.match(shown.headers.get('content-type')!, /^text\/html/)
    assert.match(shown.headers.get('content-security-policy')!, /default-src 'none'/)
    assert.equal(shown.headers.get('referrer-policy'), 'same-origin')
    assert.match(page, /Release 2\.0 to &#60;everyone&#62;\?/)
    assert.match(page, /<button name="value" value="no &#38; never">/)
  }
  assert.equal((await post(place, link, 'perhaps')).status, 400)
  const answers = await Promise.all([post(place, link, 'yes'), post(place, link, 'no & never')])
  assert.deepEqual(
    answers.map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 410],
  )
  await ended(place, id)
  const used = answers[0].status === 200 ? 'yes' : 'no & never'
  assert.deepEqual(await answerOf(place, id), { answer: used })
  const again = await fetch(place.server.url + link)
  assert.equal(again.status, 410)
  assert.match(await again.text(), /used already/)
})

test('a link to an unknown or ended run is not made; a wrong one is refused', async (t) => {
  const place = await serve(t)
  await assert.rejects(makeLink(place, 'none'), code('unknown_run'))
  const id = await start(place)
  const link = await makeLink(place, id)
  assert.equal((await post(place, link, 'approved')).status, 200)
  await ended(place, id)
  await assert.rejects(makeLink(place, id), code('run_ended'))
  const wrong = await fetch(`${place.server.url}/approvals/${'x'.repeat(43)}`)
  assert.equal(wrong.status, 410)
  assert.equal((await fetch(`${place.server.url}/approvals/short`)).status, 400)
})

test('GET /runs/events shows runs as they begin and end', async (t) => {
  const place = await serve(t)
  const seen: string[] = []
  const enough = new AbortController()
  let id: string | undefined
  for await (const { event, data } of place.client.events('GET /runs/events', {
    signal: enough.signal,
  })) {
    if (event !== 'runs') continue
    const { runs } = JSON.parse(data) as RunsChange
    id ??= await start(place)
    const outcome = runs.find((run) => run.id === id)?.outcome
    if (outcome === undefined || seen.at(-1) === outcome) continue
    seen.push(outcome)
    if (outcome === 'running') {
      const params = { id, name: 'approval' }
      await place.client.call('POST /runs/:id/signals/:name', { params, body: { value: 1 } })
    } else break
  }
  assert.deepEqual(seen, ['running', 'succeeded'])
})

test('a drain ends open streams with the reason, and is not held up by them', async (t) => {
  const place = await serve(t)
  const id = await start(place)
  const ends = new Map<string, unknown>()
  const enough = new AbortController()
  const follow = async (route: 'one' | 'list', onOpen: () => void): Promise<void> => {
    const { signal } = enough
    const events =
      route === 'one'
        ? place.client.events('GET /runs/:id/events', {
            params: { id },
            query: { after: 0 },
            signal,
          })
        : place.client.events('GET /runs/events', { signal })
    for await (const { event, data } of events) {
      onOpen()
      if (event !== 'end') continue
      ends.set(route, JSON.parse(data))
      return
    }
  }
  const opened = { one: Promise.withResolvers<void>(), list: Promise.withResolvers<void>() }
  const following = [follow('one', opened.one.resolve), follow('list', opened.list.resolve)]
  await Promise.all([opened.one.promise, opened.list.promise])
  const { isClean } = await place.server.drain({ deadline: 0 })
  await Promise.all(following)
  assert.equal(isClean, false, 'the run has not ended')
  assert.deepEqual(Object.fromEntries(ends), {
    one: { reason: 'draining' },
    list: { reason: 'draining' },
  })
})
