"""Forms of what is wrong with the settings, the database or a command line, and their Chinese.

Used by `problems`, before its own forms. What stands in angle brackets is said again by the same
forms. What comes from elsewhere inside a sentence (Python's TOML reader, PostgreSQL) stays English.
"""

from __future__ import annotations

from typing import Final

_DID: Final = r" \(did you mean ('.*?')\?\)"

_VALUES: Final = (
    (r"[Ii]nput should be a valid integer(?:, .+)?", "应为整数"),
    (r"[Ii]nput should be a valid number(?:, .+)?", "应为数字"),
    (r"[Ii]nput should be a valid string(?:, .+)?", "应为文字"),
    (r"[Ii]nput should be a valid boolean(?:, .+)?", "应为 true 或 false"),
    (r"[Ii]nput should be (?:a valid dictionary|an? (?:object|mapping))(?:, .+)?", "应为表"),
    (r"[Ii]nput should be greater than or equal to (\S+)", r"不能小于 \1"),
    (r"[Ii]nput should be less than or equal to (\S+)", r"不能大于 \1"),
    (r"[Ii]nput should be greater than (\S+)", r"必须大于 \1"),
    (r"[Ii]nput should be ('[^']*'(?:, '[^']*')*) or ('[^']*')", r"应为 \1 或 \2"),
    (r"[Ff]ield required", "必须填写"),
    (r'must be a list, such as (\[".*"\])', r"应为列表，例如 \1"),
    (r"must be a finite number", "应为有限的数"),
    (
        r"at most (\S+), or times would pass the calendar's end",
        r"最多 \1，否则时间会超出日历的范围",
    ),
    (r"a port is between (\d+) and (\d+)", r"端口在 \1 到 \2 之间"),
    (
        r"must name a host and end there or with a path, such as (\S+), for links begin with it",
        r"必须写明主机，并以主机或路径结尾，例如 \1，因为链接以它开头",
    ),
    (
        r"must be above 0 and at most (\S+) seconds, not (\S+)",
        r"必须大于 0 且不超过 \1 秒，不能是 \2",
    ),
    (r"must be one of (.+), not (.+)", r"应为 \1 之一，不能是 \2"),
    (r"must be en or zh, not (.+)", r"应为 en 或 zh，不能是 \1"),
)

_SETTINGS: Final = (
    (rf"unknown key (\[\w+\] )?`(.*?)`{_DID}; known here: (.+)",
     r"未知的键 \1`\2`（是否想用 \3？）；此处可用：\4"),
    (r"unknown key (\[\w+\] )?`(.*?)`; known here: (.+)", r"未知的键 \1`\2`；此处可用：\3"),
    (rf"unknown environment variable (\S+?){_DID}; unset it, .+",
     r"未知的环境变量 \1（是否想用 \2？）；请取消设置，或更正名称（文档的配置页列出了全部）"),
    (r"unknown environment variable (\S+?); unset it, .+",
     r"未知的环境变量 \1；请取消设置，或更正名称（文档的配置页列出了全部）"),
    (r"(\S+): the configuration file has no table that it belongs to; (\S+) sets a key of (\S+) "
     r"where that stands in the file",
     r"\1：配置文件中没有它所属的表；\2 设置文件中 \3 的一个键"),
    (r"the configuration file (.+) does not exist; check the path given with --config",
     r"配置文件 \1 不存在；请检查 --config 给出的路径"),
    (r"the configuration file (.+) cannot be read: (.+)", r"配置文件 \1 无法读取：\2"),
    (r"(.+) is not valid TOML: (.+) \(at line (\d+), column (\d+)\)",
     r"\1 不是有效的 TOML（第 \3 行第 \4 列）：\2"),
    (r"(.+) is not valid TOML: (.+)", r"\1 不是有效的 TOML：\2"),
    (r"`(\w+)` is a table: write (\[\w+\]) and its keys below",
     r"`\1` 是表：请写 \2，再在下面写它的键"),
    (rf"`timezone` = (.+) is not a time zone{_DID}", r"`timezone` = \1 不是时区（是否想用 \2？）"),
    (r"`timezone` = (.+) is not a time zone", r"`timezone` = \1 不是时区"),
    (r"`([\w.]+)` = (.+?): ((?:[Ii]nput should be|must |at most |a port is|[Ff]ield ).+)",
     r"`\1` = \2：<\3>"),
    (r"\[(ingest|http|store|worker|evaluation|alerts|retention|sampling|oidc|export|own_traces)\]: "
     r"(.+)", r"[\1]：<\2>"),
    (r"\[store\] `url` is not read: .+",
     "不读取 [store] 的 `url`：请在文件开头用 `database_url`，"
     "或用 RAG_MONITOR_DATABASE_URL 指定数据库"),
    (r"\[oidc\] needs `api_key` .+",
     "[oidc] 需要 `api_key`（程序无法登录）和 `public_url`（登录服务把人送回的地址）"),
    (r"`public_url` must begin with http:// or https://",
     "`public_url` 必须以 http:// 或 https:// 开头"),
    (r"`(\w+)` must be above 0, or 0 for no limit", r"`\1` 必须大于 0，0 表示不限"),
    (r"`(\w+)` must be above 0, not (\S+); leave it out for no limit",
     r"`\1` 必须大于 0，不能是 \2；不写表示不限"),
    (r"`(\w+)` must be above 0, not (\S+)", r"`\1` 必须大于 0，不能是 \2"),
    (r"`(\w+)` must be 0 or more, not (\S+)", r"`\1` 不能小于 0，不能是 \2"),
    (r"`(\w+)` must be at least (\S+) s, not (\S+): nobody could renew it in time",
     r"`\1` 至少 \2 秒，不能是 \3：否则来不及续约"),
    (r"`(\w+)` must be at least 1 \(judge once, no retry\), not (\S+)",
     r"`\1` 至少为 1（只评审一次，不重试），不能是 \2"),
    (r"`(\w+)` must be at least (\d+), not (\S+?)(?:: nothing could be taken in)?",
     r"`\1` 至少为 \2，不能是 \3"),
    (r"`(\w+)` must be at most (\d+), not (\d+): the wait doubles each time from `(\w+)` \((.+)\) "
     r"on and would pass a day",
      r"`\1` 最多为 \2，不能是 \3：等待从 `\4`（\5）起每次加倍，会超过一天"),
    (r"`(\w+)` must be (\d+) to (\d+), not (\S+): senders drop a batch that is to wait longer",
     r"`\1` 应为 \2 到 \3，不能是 \4：要等得更久，发送方就会丢弃这一批"),
    (r"`(\w+)` must be 0 \(never on the event loop\) or more, not (\S+)",
     r"`\1` 不能小于 0（0 表示从不在事件循环中处理），不能是 \2"),
    (r"`(\w+)` must be from 0 to `(\w+)` \((\S+)\), not (\S+)",
     r"`\1` 应为 0 到 `\2`（\3），不能是 \4"),
    (r"`(\w+)` \((\d+)\) must be at least `(\w+)` \((\d+)\), or one large body is never taken",
     r"`\1`（\2）不能小于 `\3`（\4），否则一个大的请求体永远不会被接收"),
    (r"`issuer` must be https .+", "`issuer` 必须是 https（只有 `allow_hosts` 中的主机可用 http）"),
    (r"`client_id` and `client_secret` are needed with `issuer`",
     "有 `issuer` 就需要 `client_id` 和 `client_secret`"),
    (r"`scopes` must contain openid", "`scopes` 必须包含 openid"),
    (r"`admins`, `writers` or `readers` must name somebody",
     "`admins`、`writers` 或 `readers` 必须指定某人"),
    (r"`(.+)`: (?:traces|scores) are kept at least one day, not (\S+)",
     r"`\1`：至少保留一天，不能是 \2"),
    (r"`(.+)`: at most (\S+) days, not (\S+)", r"`\1`：最多 \2 天，不能是 \3"),
    (r"`metrics` is empty; name at least one, or leave it out for all",
     "`metrics` 为空；请至少写一个，或不写表示全部"),
    (rf"`metrics`: there is no live metric ('.*?'){_DID}; known: (.+)",
     r"`metrics`：没有线上指标 \1（是否想用 \2？）；可用：\3"),
    (r"`metrics`: there is no live metric ('.*?'); known: (.+)",
     r"`metrics`：没有线上指标 \1；可用：\2"),
    (r"sampling\.rate is a share from above 0 to 1, not 0\.0; to have nothing judged by an "
     r"expensive judge, leave `judge` at (\S+)",
     r"sampling.rate 是大于 0、不超过 1 的比例，不能是 0；不想用昂贵的评审模型，"
     r"请把 `judge` 留为 \1"),
    (r"sampling\.(.+) is a share from above 0 to 1, not (\S+)",
     r"sampling.\1 是大于 0、不超过 1 的比例，不能是 \2"),
    (r"sampling\.(.+) is a share from 0 to 1, not (\S+)",
     r"sampling.\1 是 0 到 1 的比例，不能是 \2"),
    (r"sampling stratum (.+) is not understood; write one of (.+)",
     r"不认识抽样分层 \1；请写成 \2 之一"),
    (r"sampling\.min_per_window cannot be negative", "sampling.min_per_window 不能为负"),
    (r"sampling\.(\w+) needs 1 to 64 bytes", r"sampling.\1 需要 1 到 64 字节"),
    (r"sampling\.salt and sampling\.human_salt must differ",
     "sampling.salt 与 sampling.human_salt 不能相同"),
    (r"batch, every_s and timeout_s must be positive, settle_s at least 0",
     "batch、every_s 和 timeout_s 必须大于 0，settle_s 不能小于 0"),
    (r"`ingest_rate` is from 0 to 1", "`ingest_rate` 为 0 到 1"),
    (r"`every_s` and `timeout_s` must be positive", "`every_s` 和 `timeout_s` 必须大于 0"),
    (r"\[(\w+)\] endpoint: (.+); for a receiver of your own set (`\w+`) or (`\w+`) in \[\w+\]",
     r"[\1] endpoint：<\2>；接收方是自己的服务时，请在 [\1] 中设置 \3 或 \4"),
    (rf"\[judges\.(.+?)\]: no judge is called ('.*?'){_DID}; correct the name, .+; known: (.+)",
     r'[judges.\1]：没有名为 \2 的评审模型（是否想用 \3？）；请更正名称，'
     r'或用 kind = "…" 说明这张表属于哪个；可用：\4'),
    (r"\[judges\.(.+?)\]: no judge is called ('.*?'); correct the name, .+; known: (.+)",
     r'[judges.\1]：没有名为 \2 的评审模型；请更正名称，或用 kind = "…" 说明这张表属于哪个；'
     r'可用：\3'),
    (rf"(\[judges\.\S+\]) has no setting ('.*?'){_DID}; known: (.+)",
     r"\1 没有设置项 \2（是否想用 \3？）；可用：\4"),
    (r"(\[judges\.\S+\]) has no setting ('.*?'); known: (.+)",
     r"\1 没有设置项 \2；可用：\3"),
    (r"(judges\.\S+) is missing", r"缺少 \1"),
    (r"(\[judges\..+\]): judges no traffic, which goes to `judge` = ('.*')",
     r"\1：不评审线上流量，线上流量由 `judge` = \2 评审"),
    (rf"(notifiers\.\S+): a (\w+) channel has no such option{_DID}; it takes (.+)",
     r"\1：\2 渠道没有这个选项（是否想用 \3？）；可用：\4"),
    (r"(notifiers\.\S+): a (\w+) channel has no such option; it takes (.+)",
     r"\1：\2 渠道没有这个选项；可用：\3"),
    (r"(notifiers\.\S+|host|recipients|recipients, sender|security|timeout_s|valid_for_s): (.+)",
     r"\1：<\2>"),
    (r"name the mail server", "请写明邮件服务器"),
    (r"name at least one address", "请至少写一个地址"),
    (r"('.*') is no mail address", r"\1 不是邮件地址"),
    (r"a password is only sent over starttls or tls", "密码只通过 starttls 或 tls 发送"),
    (r"refusing to listen on (\S+) without a key: .+",
     r"没有密钥，拒绝监听 \1：请设置 RAG_MONITOR_API_KEY，或监听 127.0.0.1，或在前面有认证时设置 "
     r"`http.allow_insecure_bind = true`"),
)  # fmt: skip

_ADDRESSES: Final = (
    (r"the URL holds spaces, control or non-ASCII characters; .+",
     "URL 中有空格、控制字符或非 ASCII 字符；国际域名请写成 xn--…，其余请编码"),
    (r"the URL cannot be read: (.+)", r"URL 无法解析：\1"),
    (r"the URL must begin with https:// or http://, not (.+)",
     r"URL 必须以 https:// 或 http:// 开头，不能是 \1"),
    (r"the URL holds a user name; put credentials into a header",
     "URL 中有用户名；凭据请放进请求头"),
    (r"the URL has no host", "URL 中没有主机"),
    (r"port (\d+) is not one that web services listen on", r"端口 \1 不是网页服务使用的端口"),
    (r"('.*') is not a host name", r"\1 不是主机名"),
    (r"(\S+) is a name of an inner network; to allow it, .+",
     r"\1 是内部网络的名称；要允许它，请设置 allow_private，或在 allow_hosts 中写明"),
    (r"(\S+) is a (\S+) address; to allow it, (?:set allow_private or )?name it in allow_hosts",
     r"\1 是 \2 地址；要允许它，请在 allow_hosts 中写明（私有地址也可设置 allow_private）"),
)  # fmt: skip

_DATABASES: Final = (
    (r"the database URL cannot be read; write (\S+) or (\S+)",
     r"数据库的 URL 无法解析；请写成 \1 或 \2"),
    (r"unknown database ('.*?'); use (\S+) or (\S+)", r"不认识数据库 \1；请用 \2 或 \3"),
    (r"SQLite needs a file: write (\S+)", r"SQLite 需要文件：请写成 \1"),
    (r"(.+): there is no folder (.+); make it, mount its disk, or correct (\S+)",
     r"\1：没有文件夹 \2；请创建它、挂载它所在的磁盘，或更正 \3"),
    (r"PostgreSQL needs (\S+): (pip .+)", r"PostgreSQL 需要 \1：\2"),
    (r"(.+) is in use by another rag-monitor process \(pid (.+?)\); .+",
     r"\1 正被另一个 rag-monitor 进程使用（pid \2）；SQLite 只能由一个进程使用，它承担所有角色。"
     r"请停止那个进程，"
     r"换一个文件，或将 RAG_MONITOR_DATABASE_URL 设为 PostgreSQL，以便把各角色分成多个进程"),
    (r"(SQLite .+): nothing can be written in (.+) as user (\d+) \((.+)\); give .+",
     r"\1：用户 \3 无法写入 \2（\4）；请把该文件夹交给这个用户、以可写方式挂载它的磁盘，或更正 "
     r"RAG_MONITOR_DATABASE_URL"),
    (r"(SQLite .+): its file system knows no locks \((.+)\); .+",
     r"\1：所在的文件系统不支持锁（\2）；没有锁，两个进程会损坏文件：请用本地磁盘或 PostgreSQL"),
    (r"the database does not take this right now \((.+)\); (.+?)", r"数据库现在不接受（\1）；<\2>"),
    (r"the disk of the database is full \((.+)\); make room on it",
     r"数据库所在的磁盘已满（\1）；请腾出空间"),
    (r"the database refused \((.+)\)", r"数据库拒绝了（\1）"),
    (r"create it, or correct `database_url`", "请创建它，或更正 `database_url`"),
    (r"correct user and password in `database_url`", "请更正 `database_url` 中的用户和密码"),
    (r"try again; if it stays so, see whether the server runs and `database_url` names it",
     "请重试；若一直如此，请看数据库服务是否在运行、`database_url` 是否写对"),
    (r"try again", "请重试"),
    (r"the database is at schema revision (\S+), which this release does not know: .+: (`.+`)",
     r"数据库结构的版本为 \1，本版本不认识：它由更新的 rag-monitor 写成。请升级 rag-monitor、"
     r"恢复备份，或让更新的版本"
     r"退回本版本需要的结构：\2"),
    (r"the database (.+), this release needs (\S+); run `rag-monitor migrate`",
     r"数据库结构不是本版本需要的 \2（\1）；请运行 `rag-monitor migrate`"),
)  # fmt: skip

_USAGE: Final = (
    (r"No such command ('.*?')\. Did you mean ('.*?')\?", r"没有命令 \1，是否想用 \2？"),
    (r"No such command ('.*?')\.", r"没有命令 \1"),
    (r"No such option: (\S+) \(Possible options: (.+)\)", r"没有选项 \1，可用：\2"),
    (r"No such option: (\S+) Did you mean (.+)\?", r"没有选项 \1，是否想用 \2？"),
    (r"No such option: (\S+)", r"没有选项 \1"),
    (r"Missing argument ('.*?')\.", r"缺少参数 \1"),
    (r"Missing option ('.*?')\.", r"缺少选项 \1"),
    (r"Missing command\.", "缺少命令"),
    (r"Option ('.*?') requires an argument\.", r"选项 \1 需要一个值"),
    (r"Got unexpected extra arguments?(?:\(s\))? \((.+)\)", r"多出的参数：\1"),
    (r"Invalid value for ('.*?'(?: \(env var: '.*?'\))?): (.+)", r"\1 的值无效：<\2>"),
    (r"(?:Value error, )?('.*?') is not one of (.+?)\.?", r"\1 不在可用的值之中：\2"),
    (r"('.*?') is not a valid (?:integer|int)\.?", r"\1 不是整数"),
    (r"('.*?') is not a valid float\.?", r"\1 不是数字"),
    (r"(\S+) is not in the range (.+?)\.?", r"\1 不在范围 \2 之内"),
)  # fmt: skip

FORMS: Final = (*_USAGE, *_SETTINGS, *_VALUES, *_ADDRESSES, *_DATABASES)
"""English sentences as regular expressions, each with its Chinese."""
