import assert from 'node:assert/strict'
import { test } from 'node:test'
import { npmRegistry } from '../../../src/registry/npm/npm-registry.ts'
import type { OtpPrompt } from '../../../src/registry/npm/one-time-passwords.ts'
import { packNpm, scratch } from '../../support/packed.ts'
import { startStub, type StubServer } from '../../support/servers.ts'

/** A registry that takes uploads with a password which is right at that moment. */
async function startRegistry(
  isRight: (otp: unknown) => boolean,
  refusal: (url: string) => object = () => ({ error: 'You must provide a one-time pass.' }),
): Promise<StubServer> {
  let looks = 0
  const server = await startStub((request, response) => {
    const { headers, url } = request
    request.resume()
    if (url === '/done') {
      const isIn = ++looks > 2
      response.writeHead(isIn ? 200 : 202, { 'retry-after': '0' })
      return void response.end(isIn ? '{"token":"from-browser"}' : '{}')
    }
    if (isRight(headers['npm-otp'])) return void response.writeHead(201).end('{}')
    response.writeHead(401, { 'www-authenticate': 'OTP' })
    response.end(JSON.stringify(refusal(server.url)))
  })
  return server
}

function answering(
  ...answers: (string | undefined)[]
): OtpPrompt & { asked: number; shown: string[] } {
  const prompt = {
    asked: 0,
    shown: [] as string[],
    ask: () => Promise.resolve(answers[prompt.asked++]),
    show: (_: string, address: string) => void prompt.shown.push(address),
  }
  return prompt
}

test('OT1, OT2 an expired one-time password is asked for again, once for all uploads', async () => {
  await using tree = await scratch()
  let right = '111'
  await using server = await startRegistry((otp) => otp === right)
  const prompt = answering('222', '333')
  await using registry = npmRegistry({ url: server.url, token: 't', prompt })
  const packed = await Promise.all(
    ['a', 'b', 'c'].map((name) => packNpm(tree.folder, name, '1.0.0')),
  )
  await registry.upload(packed[0]!, { distTag: 'latest', otp: '111' })
  assert.equal(prompt.asked, 0)
  right = '222'
  await Promise.all(packed.map((each) => registry.upload(each, { distTag: 'latest', otp: '111' })))
  assert.equal(prompt.asked, 1)
  right = '333'
  await registry.upload(packed[0]!, { distTag: 'latest', otp: '111' })
  assert.equal(prompt.asked, 2)
})

test('OT3 without an answer, and without a person, the refusal stands', async () => {
  await using tree = await scratch()
  await using server = await startRegistry(() => false)
  const packed = await packNpm(tree.folder, 'a', '1.0.0')
  for (const prompt of [answering(undefined), undefined]) {
    const asks = prompt === undefined ? {} : { prompt }
    await using registry = npmRegistry({ url: server.url, token: 't', ...asks })
    await assert.rejects(registry.upload(packed, { distTag: 'latest' }), {
      code: 'HDL_REGISTRY_AUTH',
    })
  }
})

test('a registry that requires a login in the browser: its address is shown, and the login is awaited', async () => {
  await using tree = await scratch()
  await using server = await startRegistry(
    (otp) => otp === 'from-browser',
    (url) => ({ error: 'one-time pass', authUrl: `${url}/login`, doneUrl: `${url}/done` }),
  )
  const prompt = answering()
  await using registry = npmRegistry({ url: server.url, token: 't', prompt })
  await registry.upload(await packNpm(tree.folder, 'a', '1.0.0'), { distTag: 'latest' })
  assert.deepEqual([prompt.shown, prompt.asked], [[`${server.url}/login`], 0])
  assert.equal(server.calls[0]!.headers['npm-auth-type'], 'web')
})
