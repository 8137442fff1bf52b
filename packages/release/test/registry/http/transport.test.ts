import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import path from 'node:path'
import { test, type TestContext } from 'node:test'
import { openRegistries } from '../../../src/registry/open-registries.ts'
import { makeTree } from '../../workspace/tree.ts'

/** A certificate for 127.0.0.1 that signs itself. */
function certificate(folder: string, name: string): { cert: string; key: string } {
  const files = { cert: path.join(folder, `${name}.pem`), key: path.join(folder, `${name}.key`) }
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject]
  const out = ['-keyout', files.key, '-out', files.cert]
  execFileSync('openssl', [...args, ...out], { stdio: 'ignore' })
  return files
}

async function listen(t: TestContext, server: net.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** Whether a registry that has nothing could be asked. */
async function asks(
  folder: string,
  url: string,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  await using registries = await openRegistries({ folder, npm: url, env: { HOME: folder, ...env } })
  const registry = registries.registryAt(url, 'npm')
  try {
    const found = await registry.read('a', '1.0.0', { deadline: 20_000 })
    return found === undefined ? 'nothing' : 'something'
  } catch (error) {
    const causes = [error, (error as Error).cause]
    return causes.map(String).join(' ')
  }
}

test('cafile, certfile and strict-ssl of .npmrc are used', async (t) => {
  const folder = await makeTree(t, {})
  const [ours, theirs] = [certificate(folder, 'client'), certificate(folder, 'server')]
  const read = (file: string): string => readFileSync(file, 'utf8')
  const server = https.createServer(
    {
      cert: read(theirs.cert),
      key: read(theirs.key),
      ca: read(ours.cert),
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => {
      const isKnown = (request.socket as unknown as { authorized: boolean }).authorized
      response.writeHead(isKnown ? 404 : 400).end('{}')
    },
  )
  const url = `https://127.0.0.1:${await listen(t, server)}/`
  const address = url.slice('https:'.length)
  const npmrc = async (...lines: readonly string[]): Promise<string> =>
    makeTree(t, { '.npmrc': `${lines.join('\n')}\n` })
  const shown = [`${address}:certfile=${ours.cert}`, `${address}:keyfile=${ours.key}`]
  assert.match(await asks(await npmrc(...shown), url), /self-signed/)
  assert.equal(await asks(await npmrc(...shown, `cafile=${theirs.cert}`), url), 'nothing')
  assert.equal(await asks(await npmrc(...shown, 'strict-ssl=false'), url), 'nothing')
  assert.match(await asks(await npmrc(`cafile=${theirs.cert}`), url), /status 400/)
})

test('proxies of .npmrc and of the environment, with credentials, and noproxy', async (t) => {
  const folder = await makeTree(t, {})
  const theirs = certificate(folder, 'server')
  const [cert, key] = [readFileSync(theirs.cert), readFileSync(theirs.key)]
  const nothing: http.RequestListener = (_, response) => void response.writeHead(404).end('{}')
  const port = await listen(t, https.createServer({ cert, key }, nothing))
  const plain = await listen(t, http.createServer(nothing))
  const asked: string[] = []
  // Addresses with http are forwarded, those with https get a tunnel.
  const proxy = http.createServer((request, response) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
    response.writeHead(404).end('{}')
  })
  proxy.on('connect', (request, client: net.Socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`)
    const through = net.connect(port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n')
      through.pipe(client).pipe(through)
    })
    through.on('error', () => client.destroy())
    client.on('error', () => through.destroy())
  })
  const address = `http://user:p%40ss@127.0.0.1:${await listen(t, proxy)}`
  const set = await makeTree(t, { '.npmrc': `proxy=${address}\nstrict-ssl=false\n` })
  const empty = await makeTree(t, { '.npmrc': 'strict-ssl=false\n' })
  const basic = `Basic ${Buffer.from('user:p@ss').toString('base64')}`
  assert.equal(await asks(set, 'http://registry.example/'), 'nothing')
  assert.equal(asked.splice(0)[0], `http://registry.example/a/1.0.0 ${basic}`)
  assert.equal(await asks(empty, 'https://registry.example/', { HTTPS_PROXY: address }), 'nothing')
  assert.equal(asked.splice(0)[0], `registry.example:443 ${basic}`)
  const direct = await asks(set, `http://127.0.0.1:${plain}/`, { NO_PROXY: '127.0.0.1' })
  assert.deepEqual([direct, asked], ['nothing', []])
})
