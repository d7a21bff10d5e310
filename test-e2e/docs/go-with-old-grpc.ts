import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Debian 12 has version 1.33 of google.golang.org/grpc. This adds the newer functions that the
 * client uses to its folder, so that the client itself is compiled unchanged. Returns the settings
 * for `go`; none if the version is newer.
 */
export async function overOldGrpc(gocode: string, folder: string): Promise<Readonly<Record<string, string>>> {
  const grpc = join(gocode, 'src/google.golang.org/grpc');
  const isNew = await stat(join(grpc, 'credentials/insecure')).catch(() => undefined);
  if (isNew !== undefined) return {};
  await mkdir(folder, { recursive: true });
  const replaced: Record<string, string> = {};
  for (const [file, text] of Object.entries(newer)) {
    const written = join(folder, file.replaceAll('/', '-'));
    await writeFile(written, text);
    replaced[join(grpc, file)] = written;
  }
  const overlay = join(folder, 'overlay.json');
  await writeFile(overlay, JSON.stringify({ Replace: replaced }));
  // Newer versions retry calls by default.
  return { GOFLAGS: `-overlay=${overlay}`, GRPC_GO_RETRY: 'on' };
}

const newer: Readonly<Record<string, string>> = {
  'new_client.go': `package grpc

func NewClient(target string, opts ...DialOption) (*ClientConn, error) {
	return Dial("dns:///"+target, opts...)
}
`,
  'credentials/insecure/insecure.go': `package insecure

import (
	"context"
	"net"

	"google.golang.org/grpc/credentials"
)

func NewCredentials() credentials.TransportCredentials { return plain{} }

type plain struct{}

func (plain) ClientHandshake(_ context.Context, _ string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, info{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (plain) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, info{credentials.CommonAuthInfo{SecurityLevel: credentials.NoSecurity}}, nil
}

func (plain) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "insecure"}
}

func (plain) Clone() credentials.TransportCredentials { return plain{} }

func (plain) OverrideServerName(string) error { return nil }

type info struct{ credentials.CommonAuthInfo }

func (info) AuthType() string { return "insecure" }
`,
};
