package spring;

import com.azure.cosmos.CosmosClientBuilder;
import com.azure.spring.data.cosmos.config.AbstractCosmosConfiguration;
import com.azure.spring.data.cosmos.config.CosmosConfig;
import com.azure.spring.data.cosmos.repository.config.EnableCosmosRepositories;
import com.azure.spring.data.cosmos.repository.config.EnableReactiveCosmosRepositories;
import java.util.UUID;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import support.Environment;

/** An application's configuration: the address, the key, gateway mode, a database of its own. */
@Configuration
@EnableCosmosRepositories(basePackageClasses = Orders.class)
@EnableReactiveCosmosRepositories(basePackageClasses = Orders.class)
public class SpringConfiguration extends AbstractCosmosConfiguration {
    private static final String DATABASE = "spring-" + UUID.randomUUID();

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

    @Override
    protected String getDatabaseName() {
        return DATABASE;
    }
}
