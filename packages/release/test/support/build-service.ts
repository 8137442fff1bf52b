/** Stand-ins for the services of a GitHub Actions job: its tokens, Fulcio and Rekor. */
import type { IncomingMessage } from 'node:http'
import { startStub } from './servers.ts'

export interface BuildService extends AsyncDisposable {
  readonly url: string
  /** The variables that GitHub Actions sets for a job that may request tokens. */
  readonly env: Readonly<Record<string, string>>
  /** `METHOD path`, in order. */
  readonly calls: string[]
  /** Bodies that were sent to Rekor. */
  readonly entries: object[]
}

const base64 = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
/** Not a certificate: nothing here checks one. */
const certificate = `-----BEGIN CERTIFICATE-----\n${Buffer.from('stand-in').toString('base64')}\n-----END CERTIFICATE-----\n`

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const pieces: Buffer[] = []
  for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece)
  const text = Buffer.concat(pieces).toString()
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>)
}

export async function startBuildService(): Promise<BuildService> {
  const calls: string[] = []
  const entries: object[] = []
  const stub = await startStub(async (request, response) => {
    const { method = '', url = '' } = request
    calls.push(`${method} ${url}`)
    const body = await bodyOf(request)
    const answer = (status: number, value: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (url.startsWith('/token')) {
      const audience = new URL(url, 'http://x').searchParams.get('audience')
      const payload = { iss: 'https://example.com', sub: 'job', aud: audience }
      return answer(200, { value: `${base64({ alg: 'none' })}.${base64(payload)}.x` })
    }
    if (url === '/api/v2/signingCert') {
      const chain = { certificates: [certificate, certificate] }
      return answer(201, { signedCertificateEmbeddedSct: { chain } })
    }
    if (url === '/api/v1/log/entries') {
      entries.push(body)
      const entry = {
        body: Buffer.from(JSON.stringify({ kind: 'dsse', apiVersion: '0.0.1' })).toString('base64'),
        integratedTime: 1,
        logID: '00',
        logIndex: entries.length,
        verification: {
          inclusionProof: { checkpoint: 'x', hashes: [], logIndex: 1, rootHash: '00', treeSize: 1 },
          signedEntryTimestamp: 'eA==',
        },
      }
      return answer(201, { ['0'.repeat(80)]: entry })
    }
    return answer(404, {})
  })
  return {
    url: stub.url,
    calls,
    entries,
    env: {
      GITHUB_ACTIONS: 'true',
      CI: 'true',
      ACTIONS_ID_TOKEN_REQUEST_URL: `${stub.url}/token?job=1`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'secret-of-the-job',
      SIGSTORE_FULCIO_URL: stub.url,
      SIGSTORE_REKOR_URL: stub.url,
      GITHUB_SERVER_URL: 'https://github.com',
      GITHUB_REPOSITORY: 'acme/mono',
      GITHUB_WORKFLOW_REF: 'acme/mono/.github/workflows/release.yml@refs/heads/main',
      GITHUB_REF: 'refs/heads/main',
      GITHUB_SHA: '0'.repeat(40),
    },
    [Symbol.asyncDispose]: () => stub[Symbol.asyncDispose](),
  }
}
