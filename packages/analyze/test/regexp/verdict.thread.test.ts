import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { regExpVerdict } from '../../src/regexp/verdict.ts'

const matching = `
  const { parentPort, workerData } = require('node:worker_threads')
  parentPort.postMessage('started')
  new RegExp(workerData.source, workerData.flags).test(workerData.text)
  parentPort.postMessage('done')
`

function matchInThread({ source, flags }: RegExp, text: string): Worker {
  return new Worker(matching, { eval: true, workerData: { source, flags, text } })
}

/** Ends the thread once it has said so. One listener for all messages: two may come in one turn. */
async function finish(worker: Worker): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    worker.on('message', (message) => {
      if (message === 'done') resolve()
    })
    worker.on('error', reject)
  })
  await worker.terminate()
}

/**
 * No clock: with 60 repetitions V8 would have to take more than 2^60 steps, and meanwhile a linear
 * pattern has been matched against a text of the same length in three other threads, one by one.
 */
test('V8 does not come to an end on the attack string of an exponential pattern', async () => {
  for (const pattern of [/(a+)+$/, /^(\w+\s?)*$/]) {
    const verdict = regExpVerdict(pattern.source, pattern.flags)
    assert.equal(verdict.kind, 'exponential')
    const { prefix, pump, suffix } = verdict.attack
    const text = prefix + pump.repeat(60) + suffix
    const stuck = matchInThread(pattern, text)
    let isDone = false
    stuck.on('message', (message) => {
      if (message === 'done') isDone = true
    })
    try {
      await once(stuck, 'message')
      for (let i = 0; i < 3; i += 1) await finish(matchInThread(/^a+$/, text))
      assert.equal(isDone, false)
    } finally {
      await stuck.terminate()
    }
  }
})
