/** How a connection is made: directly or through a proxy, and which certificates count. */
import { Pool, ProxyAgent } from 'undici'

export interface Transport {
  /** The address of a proxy, with credentials where it wants them. */
  readonly proxy?: string
  /** Certificates of authorities that count instead of the public ones, as PEM. */
  readonly ca?: readonly string[]
  /** The certificate that we show, and its key, as PEM. */
  readonly cert?: string
  readonly key?: string
  /** False takes any certificate: `strict-ssl=false`. */
  readonly isStrict?: boolean
}

export type Connections = Pool | ProxyAgent

export function openConnections(
  origin: string,
  connections: number,
  { proxy, ca, cert, key, isStrict = true }: Transport = {},
): Connections {
  const tls = {
    ...(ca !== undefined && { ca: [...ca] }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    rejectUnauthorized: isStrict,
  }
  const common = {
    connections,
    pipelining: 1,
    allowH2: false,
    // Ours are by progress and by the injected clock.
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: 30_000,
  }
  if (proxy === undefined) return new Pool(origin, { ...common, connect: tls })
  const { username, password, href } = new URL(proxy)
  const secret = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  return new ProxyAgent({
    ...common,
    uri: href.replace(/^(\w+:\/\/)[^/@]*@/, '$1'),
    requestTls: tls,
    ...(username !== '' && { token: `Basic ${Buffer.from(secret).toString('base64')}` }),
  })
}
