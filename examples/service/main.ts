/** Starts the service, plays its clients, kills it while it owes a result, and starts it again. */
import { rm } from 'node:fs/promises'
import { CallError, connect } from '@heddle/server/client'
import { ask, waitForResult } from './ask.ts'
import { serve } from './serve.ts'

for (const suffix of ['', '-wal', '-shm']) await rm(`service.db${suffix}`, { force: true })

const say = (what: string, text: string): void => console.log(`${what.padEnd(8)} ${text}`)

await using first = await serve()
const client = connect({ url: first.url })

const text = 'the cat and the dog and the bird'
const counted = await ask(client, 'words', text)
say('words', JSON.stringify(counted.result))

// Twenty clients ask for the same: it is computed once.
const clients = Array.from({ length: 20 }, () => connect({ url: first.url }))
const answers = await Promise.all(clients.map((each) => ask(each, 'report', 'June')))
const handles = new Set(answers.map(({ handle }) => handle))
say('shared', `${answers.length} answers, ${handles.size} computation`)

// A refusal has a code for programs and a sentence for people.
try {
  await ask(client, 'wrods', text)
} catch (error) {
  if (!(error instanceof CallError)) throw error
  say('refused', `${error.status} ${error.code}: ${error.message}`)
}

// Submitted without waiting: status 202 is a promise, also over kill -9.
const params = { name: 'report' }
const { status, body } = await client.call('POST /jobs/:name', { params, body: 'July' })
say('submit', `${status}: the result will be there`)
await first.stop('SIGKILL')
say('killed', 'the process of the service is gone')

await using second = await serve()
const { result } = await waitForResult(connect({ url: second.url }), body.handle)
say('result', String(result))

// SIGTERM: the service finishes what it has admitted, then it ends with 0.
say('stopped', `exit code ${await second.stop('SIGTERM')}`)
