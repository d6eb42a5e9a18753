// An OpenID provider for tests: its folder of packages, its port, and where it may send people back to.
// Whoever logs in as `name` is name@example.org, in the groups that follow the name after dots: ada.operators.staff.
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [packages, port, callback, secret] = process.argv.slice(2);
const { default: Provider } = await import(
  pathToFileURL(createRequire(`${packages}/`).resolve('oidc-provider')).href
);
const provider = new Provider(`http://127.0.0.1:${port}`, {
  clients: [{ client_id: 'tradewind', client_secret: secret, redirect_uris: [callback] }],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
  pkce: { required: () => true },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => {
      const [name, ...groups] = id.split('.');
      return { sub: id, email: `${name}@example.org`, email_verified: !groups.includes('unproven'), groups };
    },
  }),
});
provider.listen(Number(port), '127.0.0.1', () => console.log('ready'));
