package spring;

import com.azure.cosmos.CosmosClientBuilder;
import com.azure.spring.data.cosmos.config.AbstractCosmosConfiguration;
import com.azure.spring.data.cosmos.config.CosmosConfig;
import com.azure.spring.data.cosmos.core.mapping.EnableCosmosAuditing;
import com.azure.spring.data.cosmos.repository.config.EnableCosmosRepositories;
import com.azure.spring.data.cosmos.repository.config.EnableReactiveCosmosRepositories;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import java.util.UUID;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.auditing.DateTimeProvider;
import org.springframework.data.domain.AuditorAware;
import support.Environment;

/** An application's configuration: the address, the key, gateway mode, a database of its own. */
@Configuration
@EnableCosmosAuditing(dateTimeProviderRef = "clock")
@EnableCosmosRepositories(basePackageClasses = Orders.class)
@EnableReactiveCosmosRepositories(basePackageClasses = Orders.class)
public class SpringConfiguration extends AbstractCosmosConfiguration {
    static final String DATABASE = "spring-" + UUID.randomUUID();
    static final String AUDITOR = "ann";

    @Bean
    public CosmosClientBuilder cosmosClientBuilder() {
        return new CosmosClientBuilder().endpoint(Environment.get(Environment.COSMOS_HTTPS_URL))
                .key(Environment.get(Environment.COSMOS_KEY)).gatewayMode();
    }

    @Bean
    @Override
    public CosmosConfig cosmosConfig() {
        return CosmosConfig.builder().enableQueryMetrics(true).build();
    }

    @Bean
    public AuditorAware<String> auditor() {
        return () -> Optional.of(AUDITOR);
    }

    /** In milliseconds: items have numbers of 53 bits. */
    @Bean(name = "clock")
    public DateTimeProvider clock() {
        return () -> Optional.of(OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.MILLIS));
    }

    @Override
    protected String getDatabaseName() {
        return DATABASE;
    }
}
