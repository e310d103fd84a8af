"""What `scrub` must take out and what it must leave alone.

Every secret here is made at run time from a prefix and a seeded random body, so that no scanner
finds one in this repository.
"""

import base64
import json
import random
import string
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from all_cases import all_cases
from rlm.store import secrets
from rlm.store.secrets import scrub, scrub_value

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "_-"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
HEX = "0123456789abcdef"
BASE64 = ALNUM + "+/"


def body(alphabet: str, length: int, seed: int = 7) -> str:
    """Random characters, the last three fixed so that a digit and both cases are always there."""
    rng = random.Random(f"{alphabet}{length}{seed}")
    tail = "a7" if alphabet in (HEX, LOWER) else "Z7" if alphabet == UPPER else "aZ7"
    return "".join(rng.choice(alphabet) for _ in range(length - len(tail))) + tail


def jwt(*, parts: int = 3) -> str:
    claims = [{"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "admin": True}]
    encoded = [
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in claims
    ]
    return ".".join([*encoded, body(URLSAFE, 43)][:parts])


# a name: the kind, the secret. These are known by their shape, whatever stands around them.
TOKENS = {
    "aws id": ("aws-access-key", "AK" + "IA" + body(UPPER, 16)),
    "aws temporary id": ("aws-access-key", "AS" + "IA" + body(UPPER, 16)),
    "google": ("gcp-api-key", "AI" + "za" + body(URLSAFE, 35)),
    "google oauth": ("gcp-oauth", "ya" + "29." + body(URLSAFE, 60)),
    "google client": ("gcp-oauth", "GOC" + "SPX-" + body(URLSAFE, 28)),
    "openai": ("openai-key", "sk" + "-" + body(ALNUM, 48)),
    "openai project": ("openai-key", "sk" + "-proj-" + body(URLSAFE, 60)),
    "openai service": ("openai-key", "sk" + "-svcacct-" + body(URLSAFE, 60)),
    "openai in one case": ("openai-key", "sk" + "-proj-" + "abcdefghij" * 4),
    "anthropic": ("anthropic-key", "sk" + "-ant-api03-" + body(URLSAFE, 93)),
    "openrouter": ("openrouter-key", "sk" + "-or-v1-" + body(HEX, 64)),
    "groq": ("groq-key", "gs" + "k_" + body(ALNUM, 52)),
    "huggingface": ("huggingface-token", "h" + "f_" + body(string.ascii_letters, 34)),
    "replicate": ("replicate-token", "r" + "8_" + body(ALNUM, 37)),
    "xai": ("xai-key", "xa" + "i-" + body(ALNUM, 80)),
    "perplexity": ("perplexity-key", "pp" + "lx-" + body(ALNUM, 48)),
    "nvidia": ("nvidia-key", "nv" + "api-" + body(URLSAFE, 64)),
    "tavily": ("tavily-key", "tv" + "ly-" + body(ALNUM, 32)),
    "pinecone": ("pinecone-key", "pc" + "sk_" + body(ALNUM, 60)),
    "langsmith": ("langsmith-key", "ls" + "v2_pt_" + body(HEX, 32)),
    "github": ("github-token", "gh" + "p_" + body(ALNUM, 36)),
    "github oauth": ("github-token", "gh" + "o_" + body(ALNUM, 36)),
    "github user": ("github-token", "gh" + "u_" + body(ALNUM, 36)),
    "github server": ("github-token", "gh" + "s_" + body(ALNUM, 36)),
    "github refresh": ("github-token", "gh" + "r_" + body(ALNUM, 36)),
    "github fine": ("github-token", "github" + "_pat_" + body(ALNUM, 22) + "_" + body(ALNUM, 59)),
    "gitlab": ("gitlab-token", "gl" + "pat-" + body(URLSAFE, 20)),
    "npm": ("npm-token", "np" + "m_" + body(ALNUM, 36)),
    "pypi": ("pypi-token", "py" + "pi-AgEIcHlwaS5vcmc" + body(URLSAFE, 90)),
    "slack bot": ("slack-token", "xo" + "xb-" + "123456789012-1234567890123-" + body(ALNUM, 24)),
    "slack user": ("slack-token", "xo" + "xp-" + "123456789012-1234567890123-" + body(ALNUM, 32)),
    "slack app": ("slack-token", "xa" + "pp-1-A0B1C2D3E4F-" + body(HEX, 64)),
    "stripe": ("stripe-key", "sk" + "_live_" + body(ALNUM, 24)),
    "stripe restricted": ("stripe-key", "rk" + "_live_" + body(ALNUM, 24)),
    "stripe test": ("stripe-key", "sk" + "_test_" + body(ALNUM, 24)),
    "stripe webhook": ("stripe-key", "wh" + "sec_" + body(ALNUM, 32)),
    "sendgrid": ("sendgrid-key", "S" + "G." + body(URLSAFE, 22) + "." + body(URLSAFE, 43)),
    "twilio": ("twilio-key", "S" + "K" + body(HEX, 32)),
    "telegram": ("telegram-token", "1234567890" + ":AA" + body(URLSAFE, 33)),
    "discord": (
        "discord-token",
        "M" + body(ALNUM, 23) + "." + body(ALNUM, 6) + "." + body(URLSAFE, 38),
    ),
    "digitalocean": ("digitalocean-token", "do" + "p_v1_" + body(HEX, 64)),
    "doppler": ("doppler-token", "dp" + ".pt." + body(ALNUM, 43)),
    "databricks": ("databricks-token", "da" + "pi" + body(HEX, 32)),
    "vault": ("vault-token", "hv" + "s." + body(URLSAFE, 90)),
    "docker": ("docker-token", "dc" + "kr_pat_" + body(URLSAFE, 27)),
    "age": ("age-key", "AGE" + "-SECRET-KEY-1" + body(UPPER, 58)),
    "shopify": ("shopify-token", "sh" + "pat_" + body(HEX, 32)),
    "linear": ("linear-key", "lin" + "_api_" + body(ALNUM, 40)),
    "grafana": ("grafana-token", "gl" + "sa_" + body(ALNUM, 32)),
    "notion": ("notion-token", "nt" + "n_" + body(ALNUM, 46)),
    "supabase": ("supabase-key", "sb" + "p_" + body(HEX, 40)),
    "airtable": ("airtable-token", "pa" + "t" + body(ALNUM, 14) + "." + body(HEX, 64)),
    "atlassian": ("atlassian-token", "ATA" + "TT3x" + body(URLSAFE, 60)),
    "heroku": ("heroku-key", "HR" + "KU-" + body(URLSAFE, 40)),
    "deepseek": ("deepseek-key", "sk" + "-" + body(HEX, 32)),
    "sk in lower case": ("deepseek-key", "sk" + "-" + body(LOWER, 48)),
    "together": ("together-key", "tg" + "p_v1_" + body(URLSAFE, 43)),
    "fireworks": ("fireworks-key", "f" + "w_" + body(ALNUM, 24)),
    "cerebras": ("cerebras-key", "cs" + "k-" + body(LOWER, 48)),
    "voyage": ("voyage-key", "p" + "a-" + body(URLSAFE, 43)),
    "jina": ("jina-key", "ji" + "na_" + body(HEX, 32) + body(URLSAFE, 28)),
    "elevenlabs": ("elevenlabs-key", "s" + "k_" + body(HEX, 48)),
    "google, new": ("gcp-api-key", "A" + "Q.Ab8" + body(URLSAFE, 47)),
    "bedrock": ("aws-bedrock-key", "AB" + "SKQmVkcm9ja0FQSUtleS" + body(BASE64, 110) + "="),
    "bedrock for a day": (
        "aws-bedrock-key",
        "bedrock" + "-api-key-YmVkcm9jay5hbWF6b25hd3" + body(BASE64, 200) + "==",
    ),
    "alibaba": ("alibaba-key", "LT" + "AI5t" + body(ALNUM, 18)),
    "alibaba, old": ("alibaba-key", "LT" + "AI" + body(ALNUM, 12)),
    "terraform": ("terraform-token", body(ALNUM, 14) + ".atlas" + "v1." + body(URLSAFE, 67)),
    "pulumi": ("pulumi-token", "pu" + "l-" + body(HEX, 40)),
    "vercel": ("vercel-token", "vc" + "p_" + body(URLSAFE, 56)),
    "vercel, short": ("vercel-token", "vc" + "k_" + body(ALNUM, 24)),
    "vercel, named": ("vercel-token", "ver" + "cel_" + body(ALNUM, 24)),
    "vercel blob": (
        "vercel-token",
        "ver" + "cel_blob_rw_" + body(ALNUM, 16) + "_" + body(ALNUM, 30),
    ),
    "jwt": ("jwt", jwt()),
    "jwt without signature": ("jwt", jwt(parts=2)),
}

SETTINGS = (  # where a secret turns up
    "{}",
    "The agent logged in with {} and went on.",
    "first line\nkey is {}\nlast line",
    '{{"note": "used {} here", "n": 1}}',
    '{{\\"nested\\": \\"a\\n{}\\"}}',
    "- step: call the service\n  with: {}\n",
    "export CREDENTIAL={}\n./run.sh",
    "https://api.example.org/v1/items?x=1&cred={}&page=2",
    "next%3D{}%26page",
    "Run:\n```bash\ncurl -H 'X-Thing: {}' https://example.org\n```\n",
    "| name | value |\n| --- | --- |\n| a | {} |",
    "Schlüssel「{}」です 🔑",
)

PASSWORD = "h0rse" + "-Battery9"
STAPLE = body(ALNUM, 32)
PEM_BODY = "\n".join(body(BASE64, 64, seed) for seed in range(6))
PEM = "-----BEGIN {0}PRIVATE" + " KEY-----\n{1}\n-----END {0}PRIVATE" + " KEY-----"
BASIC = base64.b64encode(f"admin:{PASSWORD}".encode()).decode()

PLACED = (  # these are known by where they stand: the kind, the text with a hole, the secret
    ("password", "the admin password is {}, ask Bob", "hunter2-" + "Gr33n"),
    ("password", "pw: {}", "Blumen#" + "2024"),
    ("password", "Das Passwort lautet {}.", "Blumen#" + "2024"),
    ("password", "I set the password for the staging db to `{}`", "S0mmer" + "!24"),
    ("password", "passphrase of root@db1 is now {}", "correct-" + "h0rse-9"),
    ("aws-secret-key", "aws_secret_access_key = {}", body(BASE64, 40)),
    ("aws-secret-key", '{{"SecretAccessKey": "{}"}}', body(BASE64, 40)),
    *(  # beside the id of a key, here already taken out
        ("aws-secret-key", text.replace("ID", "[redacted:aws-access-key]"), body(BASE64, 40))
        for text in (
            "aws ID / {} in eu-west-1",
            "ID {}",
            "ID/{}",
            "{}/ID",
            "ID,{},eu-west-1",
            "ID:{}.",
            "log in with 'ID' and '{}'",
            "the id is ID, the secret is {}",
            "the secret {} goes with ID",
            "first ID\nthen {}\nlast",
            "the key {}\nof ID",
            'say \\"ID\\n{}\\"',
        )
    ),
    (
        "azure-key",
        "AccountName=store;AccountKey={};EndpointSuffix=core.windows.net",
        body(BASE64, 86) + "==",
    ),
    (
        "azure-sas",
        "https://x.blob.core.windows.net/c?sv=2022&sig={}&se=2030",
        body(ALNUM, 43) + "%3D",
    ),
    ("gcp-key-id", '"private_key_id": "{}",', body(HEX, 40)),
    ("auth-token", "//registry.npmjs.org/:_authToken={}", body(HEX, 32) + "-x"),
    ("url-password", "postgres://app:{}@db.internal:5432/main", PASSWORD),
    ("url-password", "redis://:{}@cache:6379/0 is up", PASSWORD),
    ("url-password", "git clone https://bob:{}@example.org/r.git", "p@ss:w0rd!"),
    ("url-password", "postgres://app:{}@db.internal:5432/main", "s3cr/et-Horse"),
    ("url-password", "amqp://app:{}@mq/vhost and http://localhost:8080/a@b", "Batt3ry/9/staple"),
    ("url-token", "git clone https://{}@github.com/owner/repository.git", body(HEX, 40)),
    ("url-token", "https://{}@dev.azure.com/org/_git/repo", body(LOWER, 52)),
    ("url-token", "git remote add origin https://{}:@git.example.org/r.git", body(ALNUM, 20)),
    ("authorization", "Authorization: Bearer {}", body(URLSAFE, 40)),
    ("authorization", "curl -H 'Authorization: Bearer {}' https://example.org", body(URLSAFE, 16)),
    ("authorization", '"authorization": "Basic {}"', BASIC),
    ("authorization", "Authorization: token {}", body(HEX, 40)),
    ("authorization", "sent Bearer {} again", body(URLSAFE, 30) + "+" + body(ALNUM, 10) + "=="),
    ("webhook-url", "https://hooks.slack.com/services/T0AB/B0CD/{}", body(ALNUM, 24)),
    ("webhook-url", "https://discord.com/api/webhooks/123456789/{}", body(URLSAFE, 68)),
    ("password", "password = {}", "hunter22"),
    ("password", "password: {}\nuser: bob", PASSWORD + "!"),
    ("password", "DB_PASSWORD={}", "correct-horse-9"),
    ("password", "DB_PASSWORD={}", "swordfishes"),
    ("password", 'config["password"] = "{}"', "correcthorse"),
    ("password", 'password: str = "{}"', "correcthorse"),
    ("password", "'password' => '{}',", "pa,ss;w<rd&1"),
    ("password", '{{\\"passwd\\": \\"{}\\"}}', PASSWORD),
    ("password", "**Password:** {}", PASSWORD),
    ("password", "Server=db;User Id=sa;Pwd={};Encrypt=true", PASSWORD),
    ("password", "<password>{}</password>", PASSWORD),
    ("password", "mysqldump --password {} --all", PASSWORD),
    ("password", "tool --password={}", PASSWORD),
    ("password", "curl -u admin:{} https://example.org", PASSWORD),
    ("password", "export DB_PASS={}", PASSWORD),
    ("password", "mysql -u root -p{} shop", PASSWORD),
    ("password", "mysqldump --host=db -p{} --all-databases > out.sql", PASSWORD),
    ("password", "sshpass -p '{}' ssh bob@host", PASSWORD),
    ("password", "redis-cli -h cache -a {} ping", PASSWORD),
    ("cookie", "Cookie: theme=dark; session={}; lang=en", body(ALNUM, 26)),
    ("cookie", "Set-Cookie: sid={}; Path=/; HttpOnly", "s%3A" + body(URLSAFE, 30)),
    ("cookie", "curl -H 'Cookie: auth={}' https://example.org", body(HEX, 32)),
    ("api-key", '"api_key": "{}"', STAPLE),
    ("api-key", "MISTRAL_API_KEY={}", STAPLE),
    ("api-key", "X-Api-Key: {}", STAPLE),
    ("api-key", "API key: {}", STAPLE),
    ("api-key", "https://api.example.org/?api_key={}&q=1", STAPLE),
    ("env-key", "AZURE_OPENAI_KEY={}", body(HEX, 32)),
    ("env-key", 'export AZURE_SEARCH_KEY="{}"', body(ALNUM, 52)),
    ("env-key", "AZURE_COSMOS_KEY: {}", body(BASE64, 86) + "=="),
    ("env-key", '"SPEECH_KEY": "{}",', body(ALNUM, 84)),
    ("env-key", 'os.environ["DATADOG_APP_KEY"] = "{}"', body(HEX, 40)),
    ("secret", "SECRET_TOKEN={}", STAPLE),
    ("secret", "client_secret: '{}'", STAPLE),
    ("secret", 'clientSecret := "{}"', STAPLE),
    ("secret", "?access_token={}&x=1", body(HEX, 32)),
    ("secret", "token={}", body(BASE64, 300)),
    ("secret", "token: {}", "123e4567" + "-e89b-12d3-a456-426614174000"),
)

KEYS = (  # whole private keys
    PEM.format("", PEM_BODY),
    PEM.format("RSA ", PEM_BODY),
    PEM.format("OPENSSH ", PEM_BODY).replace("\n", "\\n"),
    PEM.format("EC ", PEM_BODY).partition("\n-----END")[0],
    PEM.format("EC ", PEM_BODY).partition("\n-----END")[0].replace("\n", "\\n"),
    PEM.format("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n\n" + PEM_BODY),
    PEM.format("RSA ", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES,0F\n\n" + PEM_BODY).partition(
        "\n-----END"
    )[0],
    PEM.format("ENCRYPTED ", PEM_BODY).replace("\n", "\r\n"),
    PEM.format("PGP ", "\n" + PEM_BODY).replace(" KEY-----", " KEY BLOCK-----"),
)

SHA1, SHA256 = body(HEX, 40), body(HEX, 64)
UUID = "123e4567-e89b-12d3-a456-426614174000"
CLEAN = (
    "the password is SHA256-hashed",
    "the password is at least 12-character long",
    "the password was changed on 2024-01-02",
    'it says that the password is "incorrect"',
    "the password to decrypt is in 1password",
    "pw for staging: see 1password",
    "reset the password to $NEW_PASSWORD1",
    "the pw is in /etc/app2/pw",
    "mysql -u root -p shop",
    "mysql -u root -p$MYSQL_PASSWORD shop2",
    "run mysql, then pip install -p python3",
    "Cookie: theme=dark; lang=en; consent=accepted-all-2",
    "Set-Cookie: sid=<session id>; Path=/; Max-Age=31536000",
    "Check that the cookie is set: session=your-session-id-1",
    "",
    " ",
    "plain words",
    "the password is required",
    "Password: required",
    "token: the next token",
    "token: understanding",
    "key: value",
    "Secret: nobody knows, really.",
    "API key: see the settings page",
    "The token count = 4096 and max_tokens: 4096000000",
    "password=$PASSWORD",
    "password=${DB_PASSWORD}",
    "password: {{ vault_password }}",
    "api_key = <your-key>",
    "api_key = YOUR_API_KEY",
    'api_key = "your-api-key-1234"',
    "api_key=xxxxxxxxxxxx",
    "API_KEY=sk-xxxxxxxx",
    "api_key=...",
    "api_key = 'sk-...'",
    "password: ********",
    "token = os.environ['GITHUB_TOKEN2']",
    'token = os.getenv("API_TOKEN_V2")',
    "const token = process.env.API_TOKEN_2;",
    "Authorization: Bearer {token}",
    "Authorization: Bearer $TOKEN2",
    "Authorization: Bearer <token>",
    "Authorization: Bearer tokens are short-lived",
    "Authorization: Basic authentication is off",
    "a basic understanding of bearer authentication",
    "password = None",
    "password=null&token=undefined",
    "secret: true",
    "password: Optional[str] = None",
    "def login(user: str, password: str, api_key: str | None = None) -> Session:",
    "connect(password=user_password, token=page_token_2)",
    "token = next_page_token(response2)",
    "password = getpass.getpass('Password 2: ')",
    "eos_token: '<|endoftext|>'",
    "use --password to set it, --token TOKEN to log in",
    "https://user:$PASS@example.org and https://{user}:{pw}@example.org",
    "https://example.org:8080/a@b and mailto:bob@example.org",
    "git@github.com:owner/repository-with-a-long-name.git",
    f"commit {SHA1}",
    f"sha256:{SHA256}",
    f"id = {UUID}",
    f"session_id: {UUID}",
    f"cache_key={SHA1}",
    f"![dot](data:image/png;base64,iVBORw0KGgo{body(BASE64, 400)}=)",
    f"integrity sha512-{body(BASE64, 86)}==",
    base64.b64encode(json.dumps({"a": 1, "note": "not a token at all"}).encode()).decode(),
    "-----BEGIN CERTIFICATE-----\n" + PEM_BODY + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + PEM_BODY + "\n-----END PUBLIC KEY-----",
    "A PEM file starts with -----BEGIN RSA PRIVATE" + " KEY----- and a newline.",
    "It lies between -----BEGIN PRIVATE" + " KEY----- and -----END PRIVATE" + " KEY----- lines.",
    (
        "PREFIX ex: <http://example.org/ns#> SELECT ?s WHERE { ?s ex:hasToken ?t . FILTER(?t ="
        " ex:Secret) }"
    ),
    "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type> a rdf:Property .",
    "urn:uuid:" + UUID,
    "/usr/local/lib/python3.11/site-packages/hf_transfer/task-management-v2/disk-usage-report.json",
    "C:\\Users\\bob\\AppData\\Local\\Programs\\token-service",
    "risk-based-authentication-with-a-task-queue",
    'class="sk-fading-circle sk-circle-fade-dot-container"',
    "from huggingface_hub import hf_hub_download, hf_hub_url",
    "npm_config_registry and npm_lifecycle_event_name are set",
    "pypi-simple-repository-index-mirror-tool",
    "std::token::Kind::StringLiteral1 == token::Kind::Ident2",
    "EURASIA AND AUSTRALASIA, ASIAPACIFICREGION",
    "internationalization of counterrevolutionaries",
    "| --- | --------------------------------- |",
    "--------------------------------------------",
    "for i in range(10): result[i] = compute_value_2(i)",
    "primary_key=True, foreign_key='user.id2', public_key: ssh-ed25519",
    "bypass: 12345abcdef, compass=N12345678",
    "2024-01-02T03:04:05.678901+00:00 INFO app.module.submodule:handler:42",
    f"treesig={SHA256}",
    "sig=abc12345&x=1",
    "sig = self._get_call_signature_from_name(_call[0], limit)",
    f"token is {jwt(parts=1)}... in full",
    'password: "minimum 12 characters"',
    "password: understanding",
    "[redacted:aws-access-key]: 0000000a1",
    '"password": "aaaaaaaaaaaa", "token": "--------"',
    "password = get_secret2(name)",
    f"M{TOKENS['aws id'][1]}",
    # What else has forty characters beside the id of a key of AWS, or a key far from it.
    f"[redacted:aws-access-key] pushed {SHA1} and {SHA1.upper()}, {body(LOWER, 40)}",
    "[redacted:aws-access-key] in src/Main/Java/Org/Example/Key2/Reader/Id",
    "[redacted:aws-access-key], see github.com/HypothesisWorks/hypothesis/pull/3067",
    f"[redacted:aws-access-key] {body(BASE64, 39)} {body(BASE64, 41)} {body(BASE64, 39)}=",
    f"[redacted:aws-access-key]\n\n{body(BASE64, 40)}",
    f"[redacted:aws-access-key] is the id; {'and so on ' * 7} {body(BASE64, 40)}",
    f"disk-{body(ALNUM, 24)}",
    "[redacted:github-token]",
    "password=[redacted:password]",
    "Le mot de passe : obligatoire. パスワード: 必須",
    "\ud800 lone \udfff",
    # Names and numbers that begin as a key of some vendor does.
    "sk-learn and sk-" + "x" * 32,
    'class="sk-folding-cube sk-cube4 sk-double-bounce2-with-a-very-long-name-2"',
    f"disk-{body(HEX, 32)} and task_{body(HEX, 48)} of desk_{body(HEX, 48)}",
    f"sk-{body(HEX, 12)} sk_{body(HEX, 40)}",
    "tgp_v1_... and tgp_v1_key_of_the_team",
    "fw_configuration_manager2 fw_internationalizationHelper fw_update_2024_01_15_Release",
    f"fw_{SHA1}.bin sha256=qaN-fw_{body(ALNUM, 36)} sha512=qa_pa-{body(ALNUM, 80)}",
    "csk-internationalization-of-the-first-release-v2",
    "pa-System-installation-guide-for-building-2-and-the-hall-of-2024-01-15",
    f"spa-{body(ALNUM, 44)}",
    "jina_embeddings_v3_base_en_token_classification_head_2 jina_clip_v2",
    "FAQ.Ab8 and AQ.AbandonedProjectsOfTheYear2024",
    "ABSKOLUTELYINTERNATIONALNAME2 bedrock-api-key-rotation-for-the-second-region-v2",
    "bedrock-api-key-internationalization",
    (
        "LTAIxxxxxxxxxxxxxxxx LTAI5txxxxxxxxxxxxxxxxxx LTAIINTERNATIONAL VOLTAIRE1694TO1778"
        " LTAIyourAccessKeyId"
    ),
    f"DELTAI{body(ALNUM, 14)} LTAI{body(ALNUM, 60)}",
    "registry.terraform.io atlasv1.example.internal-network.organisation.example.org",
    f"pul-{body(HEX, 12)} repul-sion-of-the-second-kind-2",
    "vcp_Update_the_second_handler_of_the_board_V2 eos_vcp_init_for_the_second_board2",
    "vercel_project_production_url_2 vercel_Project_Production_Url2_of_the_team",
    # A name that ends in KEY is not always that of a secret.
    "PRIMARY_KEY=user_id_1234",
    "FOREIGN_KEY=orders_customer_id_0001_fk",
    f"CACHE_KEY={SHA1}",
    f"S3_OBJECT_KEY=uploads/2024/01/{SHA1}.bin",
    f'SORT_KEY = "{body(ALNUM, 30)}"',
    f"SSH_PUBLIC_KEY={body(ALNUM, 60)}",
    f"KEY={SHA1}",
    f"A_KEY=1 KEY={SHA1}",
    f"TLS_KEY=/etc/{SHA1}.pem QUEUE_KEY=tenant:{SHA1}:jobs",
    f"key: {SHA1}\nMONKEY={SHA1}",
    f"SESSION_KEY={UUID}",
    "STORAGE_KEY='app.settings.version2'",
    "SSL_KEY=/etc/ssl/private/server2024.key",
    "AZURE_OPENAI_KEY=$AZURE_OPENAI_KEY_2",
    "AZURE_OPENAI_KEY=<your-azure-openai-key-1234567890>",
    "AZURE_OPENAI_KEY=your0azure0openai0key0here0",
    "AZURE_OPENAI_KEY=os.environ['AZURE_OPENAI_KEY1234567890ab']",
    "REGISTRY_KEY=HKEY_LOCAL_MACHINE_SOFTWARE_2",
    "ENUM: A_KEY: 1, B_KEY: 2, RETURN_KEY = 13",
    "SELECT ?k WHERE { ?k ex:HAS_KEY ex:Value1234 . FILTER(?KEY = ex:Sort_Key) }",
    # A user in a URL is not always a token.
    "https://git@github.com/owner/repository.git and ssh://git@host:22/x",
    f"ssh://{body(HEX, 24)}@ssh.example.org and git+ssh://{SHA1}@git.example.org/r sftp://{SHA1}@h",
    "ssh://deploy-user-2024@build.example.org/srv/repository.git",
    "https://bob.smith%40example.org@example.org/ mailto://first.last2024@example.org",
    "https://serviceaccount2024prod@files.example.org/in",
    f"https://example.org/{SHA1}@v2 https://example.org?x={SHA1}@v2 https://example.org#{SHA1}@v2",
    (
        "https://{token}@github.com/o/r https://$GITHUB_TOKEN1234567890abcdef@github.com/o/r"
        " https://<token>@github.com"
    ),
    "https://registry.npmjs.org/@scope/name and https://medium.com/@bob2024",
    (
        '<http://example.org/ns#Label1> rdfs:label "Name"@en ; rdfs:seeAlso'
        " <http://example.org:8080/a/@b2> ."
    ),
    (
        "http://localhost:PORT/v1/users/@me http://{host}:{port2}/users/@me"
        " http://$HOST:$PORT2/users/@me"
    ),
    "git+ssh://github.com:owner/repository2024.git@v1.2.3",
    (
        "mongodb://h1:27017,h2:27017/db?x=a@b http://[::1]:8080/a2@b http://[2001:db8::1]:80/a2@b"
        " docker://localhost:5000/img2@sha256"
    ),
    "https://[redacted:url-token]@github.com/o/r https://[redacted:github-token]@github.com",
    "https://[redacted:url-token]:[redacted:url-password]@github.com/o/r",
)


def test_the_corpus_is_large_enough() -> None:
    assert len(TOKENS) + len(PLACED) + len(KEYS) >= 60
    assert len(CLEAN) >= 60
    assert len(set(CLEAN)) == len(CLEAN)


@all_cases("name", TOKENS)
def test_a_token_is_known_by_its_shape_wherever_it_stands(name: str) -> None:
    kind, secret = TOKENS[name]
    for setting in SETTINGS:
        result, kinds = scrub(setting.format(secret))
        assert result == setting.format(f"[redacted:{kind}]")
        assert kinds == (kind,)


@all_cases(("kind", "text", "secret"), PLACED)
def test_a_secret_is_known_by_its_place(kind: str, text: str, secret: str) -> None:
    for frame in ("{}", "Notes.\n\n```\n{}\n```\nThe end."):
        result, kinds = scrub(frame.format(text.format(secret)))
        assert result == frame.format(text.format(f"[redacted:{kind}]"))
        assert kinds == (kind,)


@pytest.mark.parametrize("key", KEYS)
def test_a_private_key_goes_as_a_whole(key: str) -> None:
    for frame in ("{}", "before\n{}\nThe text goes on.", '{{"private_key": "{}"}}'):
        result, kinds = scrub(frame.format(key))
        assert result == frame.format("[redacted:private-key]")
        assert kinds == ("private-key",)


def test_a_broken_fence_does_not_hide_the_next() -> None:
    assert scrub("-----BEGIN " + PEM.format("", PEM_BODY))[0] == "-----BEGIN [redacted:private-key]"


def test_a_putty_key_loses_its_private_lines() -> None:
    head = (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines:"
        " 1\nAAAAC3\nPrivate-Lines: 6"
    )
    result, kinds = scrub(f"{head}\n{PEM_BODY}\nPrivate-MAC: {SHA256}\nThe end.")
    assert result == f"{head} [redacted:private-key]\nPrivate-MAC: [redacted:private-key]\nThe end."
    assert kinds == ("private-key",)


@all_cases("text", CLEAN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert scrub(text) == (text, ())


def test_several_secrets_are_all_replaced_and_their_kinds_sorted() -> None:
    github, aws = TOKENS["github"][1], TOKENS["aws id"][1]
    result, kinds = scrub(f"{github} {aws}\npassword={PASSWORD}\n{github}")
    first = "[redacted:github-token] [redacted:aws-access-key]"
    assert result == f"{first}\npassword=[redacted:password]\n[redacted:github-token]"
    assert kinds == ("aws-access-key", "github-token", "password")


def test_the_secret_key_of_an_example_of_aws_goes_with_its_id() -> None:
    aws, key = "AK" + "IAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MD" + "ENG/bPxRfiCYEXAMPLEKEY"
    assert scrub(f"aws {aws} / {key}") == (
        "aws [redacted:aws-access-key] / [redacted:aws-secret-key]",
        ("aws-access-key", "aws-secret-key"),
    )


def test_an_assigned_token_has_the_kind_of_its_vendor() -> None:
    assert scrub("GITHUB_TOKEN=" + TOKENS["github"][1])[1] == ("github-token",)


def test_the_user_and_the_host_of_a_url_stay() -> None:
    assert (
        scrub(f"ftp://bob:{PASSWORD}@h.example/x")[0]
        == "ftp://bob:[redacted:url-password]@h.example/x"
    )


def test_a_token_that_is_the_user_of_a_url_goes_with_its_password_and_once() -> None:
    result, kinds = scrub(f"https://{SHA1}:x-oauth-basic@github.com/o/r")
    assert result == "https://[redacted:url-token]:[redacted:url-password]@github.com/o/r"
    assert kinds == ("url-password", "url-token")
    github = TOKENS["github"][1]
    assert scrub(f"https://{github}@github.com/o/r") == (
        "https://[redacted:url-token]@github.com/o/r",
        ("url-token",),
    )
    assert scrub(f"https://[redacted:x]:{PASSWORD}@h/") == (
        "https://[redacted:x]:[redacted:url-password]@h/",
        ("url-password",),
    )


SECRET_LIST = [secret for _, secret in TOKENS.values()]
AROUND = st.text(
    st.characters(exclude_categories=("L", "N"), exclude_characters="_-.:/+=%\\"), max_size=20
)
PIECES = st.sampled_from(
    (
        *(*SECRET_LIST, *KEYS, *(text.format(secret) for _, text, secret in PLACED), *CLEAN),
        *(
            "password",
            "token",
            "sk-",
            "eyJ",
            "AKIA",
            "ghp_",
            "-----BEGIN ",
            "-----END ",
            "Private-Lines:",
        ),
        *("://", "@", ":", "=", " ", "\n", '"', ".", "-", "_", "a", "Z9", "\\n", "%3D"),
        *("[redacted:", "]", "Bearer ", "--password "),
    )
)


@given(AROUND, st.sampled_from(SECRET_LIST), AROUND)
def test_no_token_survives_between_punctuation(before: str, secret: str, after: str) -> None:
    assert secret not in scrub(before + secret + after)[0]


@given(st.one_of(st.text(), st.lists(PIECES, max_size=8).map("".join)))
@settings(max_examples=150)
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once, kinds = scrub(text)
    assert scrub(once) == (once, ())
    assert scrub(text) == (once, kinds)
    assert list(kinds) == sorted(set(kinds))
    assert (once == text) == (not kinds)


@given(st.text(st.characters(codec=None, exclude_characters=":=-@<"), max_size=300))
def test_text_without_any_marker_is_unchanged(text: str) -> None:
    words = " ".join(text[at : at + 15] for at in range(0, len(text), 15))
    assert scrub(words) == (words, ())


HOSTILE = (
    *(
        "password for a ",
        "pw is ",
        "sk-",
        "eyJ",
        "-eyJ",
        "eyJ.",
        "ghp_",
        "AKIA",
        "SG.",
        "SG.a.",
        "xox",
        "xoxb-",
        "MN.",
        "1:",
        "12345678:A",
    ),
    *(
        "://",
        "://a:",
        "a:a@",
        "://a:b",
        "=",
        ":",
        ":a",
        "password=",
        "password=password",
        "password='",
        "token: a",
    ),
    *(
        "-----BEGIN PRIVATE" + " KEY-----",
        "-----BEGIN ",
        "-----END -----",
        "Private-Lines: 1\n",
        "Private-MAC:",
    ),
    *(
        "Comment:Private-MAC:\n",
        "Private-Lines: 1\nProc-Type:",
        "authorization: bearer ",
        "authorization:bearer$",
    ),
    *(
        "--password ",
        "--a",
        "<a>",
        "</password>",
        "<password>",
        "curl -u a:",
        " -u ",
        "a",
        "a-",
        "_",
        "\\",
        "\\n",
        "%3",
    ),
    *(
        "[redacted:",
        "[redacted:x]",
        "bearer ",
        "bearer aaaaaaaaaaaaaaaaaaa1+",
        "/api/webhooks/",
        " \t",
        "password   ",
    ),
    *(
        "password=a-1",
        "pwd=-",
        "hooks.slack.com/aaaaaaaaaaaaaaaaaaaaa",
        "sig=",
        "ya29.",
        "dp.pt.",
        "é:",
        "password=x(",
    ),
    *(
        "LTAI",
        "LTAI1",
        "LTAI1-",
        "csk-",
        "csk-a",
        "jina_",
        "pa-",
        "pa-a",
        "fw_",
        "sk_",
        "vcp_",
        "vercel_",
    ),
    *(
        "ABSK",
        "ABSKaZ9",
        "ABSKaaaaaaaaaaaaaaaaZ9+",
        "[redacted:aws-access-key] ",
        "[redacted:aws-access-key]" + "aZ9/" * 10 + " ",
        "bedrock-api-key-",
        "atlasv1.",
        "a.atlasv1.",
        "aaaaaaaaaaaaaa.",
    ),
    *(
        "://a:b/",
        "://a:b/c1@",
        "://a1@",
        "://[redacted:",
        "://[redacted:x]",
        "A_KEY=",
        "A_KEY=a1",
        "_KEY:",
        "COOKIE=",
    ),
)


@all_cases("unit", HOSTILE)
def test_much_of_what_is_almost_a_secret_is_read_in_linear_time(unit: str) -> None:
    # A quadratic pattern would need several times as long.
    text = unit * (80_000 // len(unit))
    started = time.process_time()
    result, kinds = scrub(text)
    assert time.process_time() - started < 1.5
    assert (result == text) == (not kinds)


def test_one_replacement_does_not_call_for_another_pass() -> None:
    # If every pass brought the next piece of this path within reach, there would be 14,000 passes.
    text = "hooks.slack.com/" + ("a" * 70 + "/") * 14_000
    assert scrub(text)[0] == text.replace("a" * 70, "[redacted:webhook-url]", 1)


def test_a_secret_that_another_had_hidden_goes_too() -> None:
    # The token takes the second fence with it, and only then are the lines below part of the
    # private key.
    opening = "-----BEGIN PRIVATE" + " KEY-----"
    hidden = (
        f'{opening}"{TOKENS["heroku"][1]}_-----BEGIN PUBLIC KEY-----\n{PEM_BODY}\n-----END PUBLIC'
        " KEY-----"
    )
    assert scrub(hidden) == ("[redacted:private-key]", ("heroku-key", "private-key"))


def test_values_are_scrubbed_at_every_depth_and_in_keys() -> None:
    github = TOKENS["github"][1]
    value = {"a": [1, None, (f"x {github}", True)], github: {"deep": {"er": github}}, "n": 1.5}
    mark = "[redacted:github-token]"
    assert scrub_value(value) == (
        {"a": [1, None, (f"x {mark}", True)], mark: {"deep": {"er": mark}}, "n": 1.5},
        ("github-token",),
    )


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apiKey", "X-Api-Key", "token", "client_secret", "DB_PASS"]
)
def test_a_string_under_a_secret_name_is_redacted(name: str) -> None:
    result, kinds = scrub_value({name: "understanding", "other": "understanding"})
    assert result == {name: f"[redacted:{kinds[0]}]", "other": "understanding"}
    assert scrub_value({name: ["understanding"]})[0] == {name: [f"[redacted:{kinds[0]}]"]}
    assert scrub_value(result) == (result, ())


def test_under_a_name_in_capitals_that_ends_in_key_only_what_looks_like_a_key_goes() -> None:
    kept = {
        "PRIMARY_KEY": "user_id_1234",
        "CACHE_KEY": SHA1,
        "AZURE_OPENAI_KEY": "see the portal",
        "A_KEY": UUID,
    }
    assert scrub_value(kept) == (kept, ())
    assert scrub_value({"AZURE_OPENAI_KEY": SHA1}) == (
        {"AZURE_OPENAI_KEY": "[redacted:env-key]"},
        ("env-key",),
    )


@pytest.mark.parametrize(
    "text", ["short", "$PASSWORD", "two words here", "YOUR_API_KEY", "<your-key>", "undefined"]
)
def test_a_placeholder_under_a_secret_name_stays(text: str) -> None:
    value = {"password": text, "token": None, "secret": 12345678, "max_tokens": "understanding"}
    assert scrub_value(value) == (value, ())


JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | PIECES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | PIECES, inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_LIKE)
def test_scrubbing_a_value_twice_changes_nothing_more(value: object) -> None:
    once, _ = scrub_value(value)
    assert scrub_value(once) == (once, ())


@pytest.mark.parametrize("name", ["private_\u212aey_id", "api_\u212aey", "to\u212aen"])
def test_a_name_spelled_with_the_sign_of_kelvin_is_a_name(name: str) -> None:
    assert scrub(f'{name} = "Zx81kkQ0pLm2"')[1], "text that was not cleaned before, as of a log"


@pytest.mark.parametrize("end", [*secrets._NAMES, "pass"])
def test_the_first_look_misses_no_name(end: str) -> None:
    """A secret-like name is seen in any case, alone, prefixed or quoted, before either separator."""
    names = [end, end.upper(), end.title(), *([] if end == "sig" else [f"my_{end}"])]
    value = "Zx81/kkQ0pLm2/" * 3
    assert not scrub(value)[1]
    for name in names:
        for text in (f"{name}=", f"{name}:", f'"{name}": ', f"x: 1\n**{name}** = ", f"`{name}`\t:"):
            assert scrub(text + value)[1], text
